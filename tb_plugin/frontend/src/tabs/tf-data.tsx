// The input pipeline of TensorFlow: its stages from the training to the source, and what to tune.

import type { JSX } from "preact";
import type { TfData, TfDataStage } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, percent, plural } from "../format";
import { Card } from "../ui/card";
import { Meter } from "../ui/meter";
import { PlainTable } from "../ui/plain-table";

const PARALLEL = { label: "Parallel", unit: "count", title: DEFINITIONS.tfDataParallel } as const;
const COLUMNS = [
  { label: "Stage", unit: "text", title: DEFINITIONS.tfDataStage },
  { label: "In calls", unit: "ns", title: DEFINITIONS.tfDataTotal },
  { label: "Self", unit: "ns", title: DEFINITIONS.tfDataSelf },
  { label: "Calls", unit: "count", title: DEFINITIONS.tfDataCalls },
  { label: "Buffer empty", unit: "ratio", title: DEFINITIONS.tfDataEmpty },
] as const;

const stageOf = (data: TfData) => data.stages.find((stage) => stage.path === data.slowest)?.stage;

/** Nothing where the capture holds no pipeline. */
export function TfDataPipeline({ data }: { data: TfData | null }): JSX.Element | null {
  if (!data) return null;
  const top = Math.min(...data.stages.map((stage) => stage.depth));
  return (
    <Card
      title="Input pipeline (tf.data)"
      definition={DEFINITIONS.tfData}
      basis={
        <span title={exact(data.wait_ns)}>
          waited {duration(data.wait_ns)} for {plural(data.fetches, "element")}
          {data.wait_ratio !== null && `, ${percent(data.wait_ratio)} of the loop`}
        </span>
      }
      data={() => ({
        columns: [...COLUMNS, PARALLEL],
        rows: data.stages.map((stage) => [
          stage.path,
          stage.total_ns,
          stage.self_ns,
          stage.calls,
          stage.empty_ratio,
          stage.parallelism,
        ]),
      })}
      isTable
    >
      <PlainTable headings={COLUMNS} testId="tf-data">
        {data.stages.map((stage) => (
          <tr key={stage.path}>
            <th scope="row" class="clip" title={stage.path} style={{ paddingLeft: `${6 + 8 * (stage.depth - top)}px` }}>
              <Stage stage={stage} isSlowest={stage.path === data.slowest} />
            </th>
            <td class="num" title={exact(stage.total_ns)}>
              {duration(stage.total_ns)}
            </td>
            <td class="num" title={exact(stage.self_ns)}>
              {duration(stage.self_ns)}
            </td>
            <td class="num">{count(stage.calls)}</td>
            <td class="num" title={stage.empty_ratio === null ? DEFINITIONS.tfDataNoBuffer : undefined}>
              {stage.empty_ratio === null ? "–" : <Meter ratio={stage.empty_ratio} />}
            </td>
          </tr>
        ))}
      </PlainTable>
      <p class="chart-note" data-testid="tf-data-advice">
        {data.advice !== null && <strong>Slowest: {stageOf(data)}. </strong>}
        {data.advice ??
          (data.wait_ratio === null
            ? "No step was captured, so that it is not known what the wait is of."
            : "The training hardly waits for it: there is nothing to tune.")}
      </p>
    </Card>
  );
}

/** Its kind, and how often its function may run at once. */
function Stage({ stage, isSlowest }: { stage: TfDataStage; isSlowest: boolean }): JSX.Element {
  return (
    <>
      {isSlowest ? <strong>{stage.stage}</strong> : stage.stage}
      {stage.parallelism !== null && (
        <span class="faint" title={DEFINITIONS.tfDataParallel}>
          {" "}
          ×{count(stage.parallelism)}
          {stage.autotuned && " auto"}
        </span>
      )}
    </>
  );
}
