// The Memory tab of a run as a whole: the peaks of all workers beside each other, and what their monitors saw.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { DEFINITIONS } from "../definitions";
import { bytes, count, plural } from "../format";
import { rankName, type RunMemory, type RunSummary } from "../run";
import { useRunSummary } from "../run-data";
import { openWorker } from "../state";
import { isolated } from "../timeline/text";
import { Card, type CardData } from "../ui/card";
import { Absent, Await } from "../ui/states";
import { RunMonitors } from "./run-resources";

const MOST_BARS = 16;

export function RunMemoryTab(): JSX.Element {
  const summary = useRunSummary();
  return (
    <div class="page" data-testid="run-memory">
      <Await of={summary} what="the workers" first="Summing up the workers for the first time">
        {(run) => <Peaks run={run} />}
      </Await>
      <RunMonitors only="bytes" />
    </div>
  );
}

/** Allocators that are alike: those of GPUs, or those of hosts, of one name. */
interface Kind {
  name: string;
  at: number[]; // places in the columns, the fullest first
}

function kindsOf({ device, allocator, peak_bytes: peak }: RunMemory): Kind[] {
  const kinds = new Map<string, number[]>();
  device.forEach((one, i) => {
    const name = `${one === null ? "Host" : "GPU"}${allocator[i] === null ? "" : ` ${allocator[i]}`}`;
    kinds.set(name, [...(kinds.get(name) ?? []), i]);
  });
  return [...kinds].map(([name, at]) => ({ name, at: at.sort((a, b) => peak[b] - peak[a] || a - b) }));
}

function Peaks({ run }: { run: RunSummary }): JSX.Element {
  const kinds = useMemo(() => kindsOf(run.memory), [run]);
  if (kinds.length === 0) {
    return (
      <Card title="Allocations were not recorded" testId="run-memory-none">
        <Absent>
          No worker recorded allocations. Profiler(…, profile_memory=True) asks for them in deep windows; TensorFlow
          records those of GPUs by itself.
        </Absent>
      </Card>
    );
  }
  return (
    <div class="time-cards">
      {kinds.map((kind) => (
        <KindCard key={kind.name} run={run} kind={kind} />
      ))}
    </div>
  );
}

function KindCard({ run, kind }: { run: RunSummary; kind: Kind }): JSX.Element {
  const { memory, ranks } = run;
  const peaks = kind.at.map((i) => memory.peak_bytes[i]);
  const told = new Set(kind.at.map((i) => memory.worker[i])).size;
  const silent = ranks.worker.length - told;
  const lower = kind.at.some((i) => !memory.is_absolute[i]);
  const figures: [string, number, string][] = [
    ["most", peaks[0], "The largest peak of any of them."],
    ["mean", peaks.reduce((sum, one) => sum + one, 0) / peaks.length, "Sum of the peaks divided by their number."],
    ["least", peaks[peaks.length - 1], "The smallest peak of any of them."],
  ];
  const longest = Math.max(...kind.at.map((i) => Math.max(memory.peak_bytes[i], memory.peak_reserved_bytes[i] ?? 0)));
  const shown = kind.at.slice(0, MOST_BARS);
  return (
    <Card
      title={`Peak memory of ${kind.name} allocators`}
      definition={DEFINITIONS.memoryPeak}
      basis={
        <>
          {plural(peaks.length, "allocator")} of {plural(told, "worker")}, the fullest first.
          {silent > 0 && ` ${plural(silent, "other worker")} recorded none.`}
          {lower && " Some sources tell changes only: their peaks are lower bounds."}
        </>
      }
      data={() => numbers(run, kind)}
      testId="run-peaks"
    >
      <dl class="figures">
        {figures.map(([label, value, title]) => (
          <div key={label} title={`${title} ${count(Math.round(value))} bytes.`}>
            <dt>Peak, {label}</dt>
            <dd data-testid={`run-peak-${label}`} data-value={Math.round(value)}>
              {bytes(value)}
            </dd>
          </div>
        ))}
      </dl>
      <ul class="slowest-bars">
        {shown.map((i) => {
          const [peak, reserved] = [memory.peak_bytes[i], memory.peak_reserved_bytes[i]];
          const who = rankName(ranks, memory.worker[i]);
          const where = memory.device[i] === null ? "" : `GPU ${memory.device[i]}`;
          return (
            <li key={i}>
              <button
                type="button"
                title={`${isolated(who)} ${where}\nAllocated, at most: ${count(peak)} bytes\n${reserved === null ? "The source does not tell what was reserved." : `Reserved, at most: ${count(reserved)} bytes`}\nClick to open this worker`}
                onClick={() => openWorker(run.run, ranks.worker[memory.worker[i]])}
              >
                <span class="bar-name">
                  <bdi>{who}</bdi> <span class="faint">{where}</span>
                </span>
                <span class="bar-track">
                  <span class="bar-fill" style={{ width: `${(100 * peak) / Math.max(longest, 1)}%` }} />
                </span>
                <span class="bar-value">{bytes(peak)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {shown.length < kind.at.length && (
        <p class="chart-note">
          {plural(kind.at.length - shown.length, "other")} below {bytes(peaks[shown.length - 1])}; the menu of this card
          shows all.
        </p>
      )}
    </Card>
  );
}

function numbers({ memory, ranks }: RunSummary, kind: Kind): CardData {
  return {
    columns: [
      { label: "Worker", unit: "text" },
      { label: "Rank", unit: "id" },
      { label: "Host", unit: "text" },
      { label: "GPU", unit: "id" },
      { label: "Peak allocated", unit: "bytes", title: DEFINITIONS.memoryPeak },
      { label: "Peak reserved", unit: "bytes", title: DEFINITIONS.memoryReserved },
      { label: "Lower bound", unit: "flag", title: "The source tells changes only." },
    ],
    rows: kind.at.map((i) => {
      const worker = memory.worker[i];
      return [
        ranks.worker[worker],
        ranks.rank[worker],
        ranks.host[worker],
        memory.device[i],
        memory.peak_bytes[i],
        memory.peak_reserved_bytes[i],
        !memory.is_absolute[i],
      ];
    }),
  };
}
