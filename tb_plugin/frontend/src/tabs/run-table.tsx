// The workers of a run as a table: who is slow, and in what.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { DEFINITIONS } from "../definitions";
import { bytes, count, DASH, duration, exact, percent } from "../format";
import { rankName, reasonText, signed, type RunSummary } from "../run";
import type { CardData } from "../ui/card";
import { Card } from "../ui/card";
import { ROW_HEIGHT, Table, type Column } from "../ui/table";

const MOST_ROWS = 16; // before it scrolls

export function RankTable({ run, onOpen }: { run: RunSummary; onOpen: (rank: number) => void }): JSX.Element {
  const { ranks } = run;
  const n = ranks.worker.length;
  const columns = useMemo(() => columnsOf(run), [run]);
  return (
    <Card
      title="Workers"
      definition={DEFINITIONS.rankDelta}
      basis="Means over complete steps. A click opens the worker."
      data={() => numbers(run)}
      isTable
      wide
    >
      <Table
        name="Workers"
        testId="rank"
        count={n}
        columns={columns}
        initial={{ key: "delta", descending: true }}
        height={(Math.min(n, MOST_ROWS) + 1) * ROW_HEIGHT + 4}
        version={run}
        onOpen={onOpen}
      />
    </Card>
  );
}

function columnsOf({ ranks, compared_by }: RunSummary): Column[] {
  const time = (key: keyof typeof ranks, label: string, title: string): Column | null => {
    const values = ranks[key] as (number | null)[];
    if (values.every((value) => value === null)) return null; // a column of dashes tells nothing
    return {
      key,
      label,
      title,
      numeric: true,
      value: (i) => values[i],
      cell: (i) => duration(values[i]),
      hint: (i) => exact(values[i]),
    };
  };
  const name: Column = {
    key: "worker",
    label: "Worker",
    title: "Rank and host",
    width: 150,
    value: (i) => ranks.rank[i] ?? ranks.worker[i],
    cell: (i) => (
      <>
        <b class="rank-name">{rankName(ranks, i)}</b> {ranks.host[i] && <bdi class="faint">{ranks.host[i]}</bdi>}
      </>
    ),
    hint: (i) => ranks.worker[i],
  };
  const reason: Column = {
    key: "excess",
    label: "Mostly in",
    title: DEFINITIONS.rankExcess,
    width: 180,
    value: (i) => (ranks.delta_ns[i] !== null && ranks.delta_ns[i]! > 0 ? ranks.excess_ns[i] : null),
    cell: (i) =>
      ranks.ends_early[i] ? <span class="faint">its file ends early</span> : (reasonText(ranks, i) ?? DASH),
  };
  const all: (Column | null)[] = [
    name,
    { ...time("p50_ns", "Median step", DEFINITIONS.stepP50)! },
    ranks.delta_ns.some((value) => value !== null)
      ? {
          key: "delta",
          label: "To the median",
          title: `${DEFINITIONS.rankDelta} Compared by the ${compared_by === "own" ? "step without exposed communication" : "step time"}.`,
          numeric: true,
          value: (i) => ranks.delta_ns[i],
          cell: (i) => signed(ranks.delta_ns[i]),
          hint: (i) => exact(ranks.delta_ns[i]),
        }
      : null,
    reason,
    {
      key: "slowest",
      label: "Slowest in",
      title: DEFINITIONS.rankSlowest,
      numeric: true,
      value: (i) => ranks.slowest[i],
      cell: (i) => count(ranks.slowest[i]),
    },
    time("input_wait_ns", "Input wait", "Mean time a step in which the loop waits for its next batch."),
    time("exposed_ns", "Exposed comm.", DEFINITIONS.exposed),
    time("collective_wait_ns", "Waits", DEFINITIONS.collectiveWait),
    ranks.waited_for.some((value) => value !== null)
      ? {
          key: "waited_for",
          label: "Waited for",
          title: DEFINITIONS.waitedFor,
          numeric: true,
          value: (i) => ranks.waited_for[i],
          cell: (i) => count(ranks.waited_for[i]),
        }
      : null,
    ranks.gpu_busy.some((value) => value !== null)
      ? {
          key: "gpu",
          label: "GPU busy",
          title: DEFINITIONS.gpuBusy,
          numeric: true,
          value: (i) => ranks.gpu_busy[i],
          cell: (i) => percent(ranks.gpu_busy[i]),
        }
      : null,
    ranks.memory_peak_bytes.some((value) => value !== null)
      ? {
          key: "memory",
          label: "Peak memory",
          title: "The most that was allocated on a device at once, else the most that the monitor saw in use.",
          numeric: true,
          value: (i) => ranks.memory_peak_bytes[i],
          cell: (i) => bytes(ranks.memory_peak_bytes[i]),
        }
      : null,
    {
      key: "steps",
      label: "Steps",
      title: "Complete steps",
      numeric: true,
      value: (i) => ranks.steps[i],
      cell: (i) => count(ranks.steps[i]),
    },
    {
      key: "notes",
      label: "Notes",
      title: "Kinds of data quality notes on this worker.",
      numeric: true,
      value: (i) => ranks.notes[i],
      cell: (i) => (ranks.notes[i] ? count(ranks.notes[i]) : DASH),
    },
  ];
  return all.filter((column): column is Column => column !== null && column.value !== undefined);
}

function numbers({ ranks }: RunSummary): CardData {
  return {
    columns: [
      { label: "Worker", unit: "text" },
      { label: "Rank", unit: "id" },
      { label: "Host", unit: "text" },
      { label: "Median step", unit: "ns" },
      { label: "To the median", unit: "ns" },
      { label: "Mostly in", unit: "text" },
      { label: "More there", unit: "ns" },
      { label: "Slowest in", unit: "count" },
      { label: "Input wait", unit: "ns" },
      { label: "Exposed communication", unit: "ns" },
      { label: "Waits for others", unit: "ns" },
      { label: "Waited for", unit: "count" },
      { label: "GPU busy", unit: "ratio" },
      { label: "Peak memory", unit: "bytes" },
      { label: "Steps", unit: "count" },
      { label: "File ends early", unit: "text" },
    ],
    rows: ranks.worker.map((worker, i) => [
      worker,
      ranks.rank[i],
      ranks.host[i],
      ranks.p50_ns[i],
      ranks.delta_ns[i],
      ranks.excess_part[i],
      ranks.excess_ns[i],
      ranks.slowest[i],
      ranks.input_wait_ns[i],
      ranks.exposed_ns[i],
      ranks.collective_wait_ns[i],
      ranks.waited_for[i],
      ranks.gpu_busy[i],
      ranks.memory_peak_bytes[i],
      ranks.steps[i],
      ranks.ends_early[i] ? "yes" : "no",
    ]),
  };
}
