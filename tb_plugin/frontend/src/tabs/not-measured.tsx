// What this capture lacks of all that the Summary can show, and how to record it.

import type { JSX } from "preact";
import type { SummaryAnswer } from "../api";
import { measuredUse } from "./utilisation";

interface Gap {
  what: string;
  why: string;
}

/** Panels that show nothing here, with the reason. */
export function gapsOf(answer: SummaryAnswer): Gap[] {
  const { worker, coverage } = answer;
  const gaps: Gap[] = [];
  const deep = (coverage?.windows ?? 0) > 0;
  const onDevice = (worker.kernels ?? []).length > 0;
  const monitored = answer.resources !== null && Object.keys(answer.resources).length > 0;
  const noMonitor = monitored
    ? null
    : "No resource monitor ran. The PyTorch hook and the Keras callback start one; an imported trace has none.";
  if (measuredUse(answer, "cpu").length === 0)
    gaps.push({ what: "CPU active time and utilisation", why: noMonitor ?? "The monitor took no sample of the CPU." });
  if (measuredUse(answer, "gpu").length === 0)
    gaps.push({
      what: "GPU active time and utilisation",
      why: noMonitor ?? "The monitor found no GPU whose driver tells its use (NVML).",
    });
  if (!onDevice)
    gaps.push({
      what: deep
        ? "Kernels, their precision, GPU activity, memory operations"
        : "Operators, kernels, GPU activity, memory operations",
      why: deep
        ? "Nothing ran on a GPU in the capture."
        : "No step was captured in depth. The hooks open a deep window by themselves after some steps.",
    });
  if (onDevice && !worker.communication) gaps.push({ what: "Communication", why: "No collective is in the capture." });
  if ((worker.memory ?? []).length === 0)
    gaps.push({
      what: "Memory of the allocator",
      why: deep
        ? `Allocations were not recorded${howToRecord(worker.framework)}`
        : "Allocations are recorded in deep windows only, and there is none.",
    });
  if (!worker.throughput && (answer.step_time_ns?.count ?? 0) > 0)
    gaps.push({
      what: "Throughput",
      why: "The batch size is not known: batch_size=... tells it to the profiler, a DataLoader does, or record_shapes=True.",
    });
  if ((answer.step_time_ns?.count ?? 0) < 2)
    gaps.push({
      what: "Step time distribution",
      why: worker.step_count ? "It needs two complete steps." : "No steps are marked.",
    });
  return gaps;
}

function howToRecord(framework: string | null): string {
  if (framework === "tensorflow") return ": TensorFlow does so by itself on GPUs, not on the CPU.";
  if (framework === "jax") return "; the XLA tab tells what each compiled program keeps in memory.";
  return ": profile_memory=True does, an option of torch.profiler and of stepscope's Profiler.";
}

export function NotMeasured({ answer }: { answer: SummaryAnswer }): JSX.Element | null {
  const gaps = gapsOf(answer);
  if (gaps.length === 0) return null;
  return (
    <section class="card gaps" data-testid="not-measured" aria-label="Not measured">
      <div class="card-title">
        <h3>Not measured here</h3>
      </div>
      <dl>
        {gaps.map(({ what, why }) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{why}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
