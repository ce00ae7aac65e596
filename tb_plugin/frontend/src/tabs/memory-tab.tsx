// The Memory tab: allocators over time, what was alive at a moment, what stays after each step, and every allocation.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Line } from "../charts/time-lines";
import { isLive, shown } from "../data";
import { DEFINITIONS } from "../definitions";
import { bytes, count, duration } from "../format";
import { SERIES_COLORS } from "../palette";
import { adjust, nav, navigate, theme } from "../state";
import { getMemory, type AllocatorInfo, type CurveAnswer } from "../time/memory";
import { getStrips } from "../time/requests";
import { rangeOf, type TimeRange, type TimeView } from "../time/view";
import { Card } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Await } from "../ui/states";
import type { TimeDesk } from "../ui/time-canvas";
import { Strips, TimeLines, TimeToolbar, zoomed } from "../ui/time-parts";
import { AliveCard } from "./memory-alive";
import { AllocationsCard } from "./memory-allocations";
import { MonitorMemory } from "./memory-monitor";
import { AfterStepsCard } from "./memory-steps";
import { linesData } from "./resources-tab";

const POINTS = 1500;

export const patchMemory = (patch: Partial<TimeView>) => adjust({ memory: { ...nav.peek().memory, ...patch } });

export function MemoryTab(): JSX.Element {
  const view = nav.value.memory;
  const of = view.allocator;
  const found = useFetched(
    `allocated ${of ?? ""} ${view.span?.start ?? ""} ${view.span?.width ?? ""}`,
    async (key, signal) => {
      const whole = await getMemory(key, of, null, view.span ? 20 : POINTS, signal);
      const all = extentOf(whole);
      if (!view.span || !all) return whole;
      return getMemory(key, of, rangeOf(view, whole.origin_ns, all), POINTS, signal);
    },
  );
  return (
    <div class="page">
      <Await of={found} what="the memory">
        {(answer) => {
          const all = extentOf(answer);
          return all ? <Allocators view={view} answer={answer} all={all} /> : <NoAllocations why={answer.why_empty} />;
        }}
      </Await>
      <MonitorMemory />
    </div>
  );
}

const extentOf = ({ t0, t1 }: CurveAnswer): TimeRange | null =>
  t0 === undefined || t1 === undefined ? null : { t0, t1 };

function NoAllocations({ why }: { why: string | null }): JSX.Element {
  const framework = shown.value.worker?.framework;
  const isXla = framework === "tensorflow" || framework === "jax";
  return (
    <section class="card" data-testid="no-allocations" aria-label="No allocations">
      <h3>{why === "no_window" ? "No step was captured in depth" : "Allocations were not recorded"}</h3>
      <p class="basis">
        {why === "no_window"
          ? "Allocations are recorded in deep windows, and this worker has none yet."
          : `The deep windows hold no record of an allocation.${isXla ? "" : " Ask for them where the profiler is made:"}`}
      </p>
      {isXla ? (
        <p class="basis">
          {framework === "tensorflow" && "TensorFlow records allocations by itself on GPUs, none on the CPU. "}
          The XLA tab tells what each compiled program keeps in memory, where there are such programs.
        </p>
      ) : (
        <>
          <pre class="code">
            <code>Profiler("runs/exp1", model, profile_memory=True)</code>
          </pre>
          <p class="basis">
            torch.profiler takes <code>profile_memory=True</code>, too. TensorFlow records allocations by itself on
            GPUs.
          </p>
        </>
      )}
    </section>
  );
}

function Allocators({
  view,
  answer,
  all,
}: {
  view: TimeView;
  answer: CurveAnswer;
  all: TimeRange;
}): JSX.Element | null {
  const cursor = useSignal<number | null>(null);
  const originNs = answer.origin_ns;
  const range = useMemo(() => rangeOf(view, originNs, all), [view, answer]);
  const strips = useFetched(`memory strips ${range.t0} ${range.t1}`, (key, signal) =>
    getStrips(key, range, 900, signal),
  );
  const moment = view.moment === null ? null : Number(view.moment - BigInt(originNs));
  const desk: TimeDesk = { range, cursor, moment, ...zoomed(patchMemory, originNs, all) };
  const allocator = answer.allocators[answer.of];
  const lines = useLines(answer, allocator);
  if (!allocator) return null;
  const peak = answer.peak ?? null;
  const at = moment ?? peak?.t ?? allocator.peak;
  return (
    <>
      <TimeToolbar
        view={view}
        range={range}
        all={all}
        originNs={originNs}
        live={false}
        onView={patchMemory}
        onZoom={desk.onZoom}
        chosen={{ desk, strips: strips.value, room: (range.t1 - range.t0) / 200 }}
      >
        {answer.allocators.length > 1 && (
          <label class="field">
            <span class="faint">Allocator</span>
            <select
              value={String(answer.of)}
              data-testid="allocator"
              onChange={(event) =>
                navigate({
                  memory: { ...nav.peek().memory, allocator: Number(event.currentTarget.value), moment: null },
                })
              }
            >
              {answer.allocators.map((one, i) => (
                <option key={i} value={String(i)}>
                  {one.name}
                </option>
              ))}
            </select>
          </label>
        )}
        {isLive.value && <span class="faint">of the deep windows so far</span>}
      </TimeToolbar>
      <div class="time-cards">
        <Card
          title={`Memory of ${allocator.name.replace(/^Host\b/, "the host")}`}
          definition={DEFINITIONS.memory}
          basis={[
            allocator.is_absolute
              ? "In the deep windows, as the framework's allocator recorded it."
              : "In the deep windows. The source tells changes only: the lowest level of a window counts as 0.",
            allocator.name.startsWith("GPU") && answer.numbering,
          ]
            .filter(Boolean)
            .join(" ")}
          data={() => linesData(lines)}
          testId="memory-curve"
        >
          <Figures allocator={allocator} onPeak={() => desk.onPick(allocator.peak)} />
          {strips.value && strips.value.steps.start.length > 0 && <Strips desk={desk} strips={strips.value} />}
          <TimeLines
            desk={desk}
            lines={lines}
            marks={peak ? [{ t: peak.t, value: peak.bytes, text: `peak ${bytes(peak.bytes)}` }] : NO_MARKS}
            height={190}
            axis
            label={`Allocated and reserved memory of ${allocator.name} over time`}
            testId="chart-memory"
          />
        </Card>
        <div class="pair">
          <AliveCard of={answer.of} at={at} isPeak={moment === null} view={view} />
          <AfterStepsCard of={answer.of} view={view} onPick={desk.onPick} />
        </div>
        <AllocationsCard view={view} range={view.span ? range : null} />
      </div>
    </>
  );
}

const NO_MARKS: readonly never[] = [];

function useLines(answer: CurveAnswer, allocator: AllocatorInfo | undefined): Line[] {
  const now = theme.value;
  return useMemo(() => {
    const { curve } = answer;
    if (!curve || !allocator) return [];
    const line = (name: string, value: (number | null)[], color: number, more: Partial<Line>): Line => ({
      name,
      color: SERIES_COLORS[now][color],
      unit: "bytes",
      t: curve.t,
      value,
      steps: true,
      ...more,
    });
    const lines = [line("Allocated", curve.allocated, 0, { filled: true })];
    if (allocator.peak_reserved_bytes !== null) lines.push(line("Reserved", curve.reserved, 2, { limit: true }));
    return lines;
  }, [answer, allocator, now]);
}

function Figures(props: { allocator: AllocatorInfo; onPeak: () => void }): JSX.Element {
  const { allocator } = props;
  const grown = allocator.end_bytes - allocator.start_bytes;
  const figures: [string, string, JSX.Element | string, number | null][] = [
    [
      "Peak",
      DEFINITIONS.memoryPeak,
      <>
        {bytes(allocator.peak_bytes)}{" "}
        <button type="button" class="inline-link" data-testid="to-peak" onClick={props.onPeak}>
          at {duration(allocator.peak)}
        </button>
      </>,
      allocator.peak_bytes,
    ],
    [
      "Reserved, at most",
      DEFINITIONS.memoryReserved,
      bytes(allocator.peak_reserved_bytes),
      allocator.peak_reserved_bytes,
    ],
    ["At the start", DEFINITIONS.memoryStart, bytes(allocator.start_bytes), allocator.start_bytes],
    ["Change", DEFINITIONS.memoryChange, `${grown > 0 ? "+" : ""}${bytes(grown)}`, grown],
    ["Allocations", `${count(allocator.frees)} frees.`, count(allocator.allocations), allocator.allocations],
  ];
  return (
    <dl class="figures">
      {figures
        .filter(([label]) => label !== "Reserved, at most" || allocator.peak_reserved_bytes !== null)
        .map(([label, title, shown, value]) => (
          <div key={label} title={title}>
            <dt>{label}</dt>
            <dd data-testid={`memory-${label.toLowerCase().replace(/[^a-z]+/g, "-")}`} data-value={value}>
              {shown}
            </dd>
          </div>
        ))}
    </dl>
  );
}
