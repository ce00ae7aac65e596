// One step beside the usual one: its classes and phases, and the work of which it has more or less.

import type { JSX } from "preact";
import { getComparison, type Beside, type CompareAnswer, type Differences } from "../dashboard/requests";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, plural } from "../format";
import { ACTIVITIES, ACTIVITY_LABELS, PHASE_LABELS, PHASES } from "../kinds";
import { brief } from "../names";
import { theme } from "../state";
import { Card, type CardData } from "../ui/card";
import { Delta } from "../ui/delta";
import { useFetched } from "../ui/fetched";
import { Icon } from "../ui/icons";
import { Absent, Await } from "../ui/states";
import { openStep } from "./open-step";
import { nameOf, partsOf } from "./step-parts";

const MOST_ROWS = 12;

export function StepCompare(props: {
  step: number;
  count: number; // of all steps
  onStep: (step: number | null) => void;
}): JSX.Element {
  const { step, onStep } = props;
  const loaded = useFetched(`step compared ${step}`, (key, signal) => getComparison(key, step, signal));
  const found = loaded.value;
  const name = found && found.index === step ? nameOf(found.id, found.label, found.index) : `#${step + 1}`;
  const go = (label: string, shape: "previous" | "next" | "close", to: number | null) => (
    <button
      type="button"
      class="icon-button no-picture"
      title={label}
      aria-label={label}
      disabled={to !== null && (to < 0 || to >= props.count)}
      onClick={() => onStep(to)}
    >
      <Icon shape={shape} />
    </button>
  );
  return (
    <Card
      title={props.count > 1 ? `Step ${name} beside the usual one` : `Step ${name}`}
      definition={DEFINITIONS.usualStep}
      data={found ? () => dataOf(found) : undefined}
      testId="step-detail"
      actions={
        <>
          {found && (
            <button
              type="button"
              class="button no-picture"
              data-testid="step-in-timeline"
              disabled={found.index !== step}
              onClick={() => openStep(found.origin_ns, placeOf(found), 0)}
            >
              Show in the timeline
            </button>
          )}
          {go("The step before", "previous", step - 1)}
          {go("The step after", "next", step + 1)}
          {go("Close", "close", null)}
        </>
      }
    >
      <Await of={loaded} what="the comparison">
        {(value) => <Detail found={value} count={props.count} />}
      </Await>
    </Card>
  );
}

const placeOf = (found: CompareAnswer) => ({ start: [found.start], duration: [found.duration.ns] });

function Detail(props: { found: CompareAnswer; count: number }): JSX.Element {
  const { found } = props;
  const { duration: whole, host } = found;
  const isOnly = props.count === 1;
  return (
    <>
      <p class="compare-head">
        <b data-testid="compare-duration" data-ns={whole.ns} title={exact(whole.ns)}>
          {duration(whole.ns)}
        </b>
        {isOnly && <span class="faint">: the only step, so there is no usual one to compare it with</span>}
        {!isOnly && whole.median_ns !== null && (
          <span title={`${DEFINITIONS.stepDuration} ${exact(whole.median_ns)}`}>
            {` where ${duration(whole.median_ns)} is usual: `}
            <Change ns={whole.ns - whole.median_ns} />
          </span>
        )}
        {host.ns !== whole.ns && (
          <span class="faint" title={DEFINITIONS.stepHost}>
            {`, ${duration(host.ns)} of it on the host`}
          </span>
        )}
        {!found.complete && <span class="tag">cut at the edge of the capture</span>}
      </p>
      <div class="compare">
        <Parts found={found} by="activity" count={props.count} />
        <Parts found={found} by="phase" count={props.count} />
        {!isOnly && (
          <>
            <Work
              of={hasDeviceWork(found) ? found.device_work : null}
              found={found}
              title="Device work"
              definition={DEFINITIONS.deviceDifference}
              testId="device-difference"
            />
            <Work
              of={found.host_work}
              found={found}
              title="Operators and runtime calls"
              definition={DEFINITIONS.hostDifference}
              testId="host-difference"
            />
          </>
        )}
      </div>
    </>
  );
}

/** Whether anything ran on a device, in this step or usually: nothing that did is no work "as usual". */
const hasDeviceWork = ({ activity }: CompareAnswer) =>
  ["kernel", "communication", "memcpy", "memset"].some(
    (key) => (activity?.[key]?.ns ?? 0) > 0 || (activity?.[key]?.median_ns ?? 0) > 0,
  );

/** "+6.00 ms", with the colour of slower or faster. */
function Change({ ns }: { ns: number }): JSX.Element {
  return (
    <span class={ns > 0 ? "more" : ns < 0 ? "less" : "faint"} title={exact(ns)}>
      {signed(ns)}
    </span>
  );
}

const signed = (ns: number) => (ns === 0 ? "as usual" : `${ns > 0 ? "+" : "−"}${duration(Math.abs(ns))}`);

function Parts(props: { found: CompareAnswer; by: "activity" | "phase"; count: number }): JSX.Element | null {
  const { found, by } = props;
  const isOnly = props.count === 1;
  // The usual step of a few that were captured in depth may be another one than that of all.
  const ofFew = by === "activity" && !isOnly && found.deep_peers < props.count;
  const parts = found[by];
  if (!parts) {
    return by === "phase" ? null : (
      <div>
        <h4 title={DEFINITIONS.activity}>Activity</h4>
        <Absent>This step was not captured in depth, so its kernels and operators are not known.</Absent>
      </div>
    );
  }
  const shown = partsOf(by, theme.value).filter(
    ({ key }) => parts[key] && (parts[key].ns > 0 || (parts[key].median_ns ?? 0) > 0),
  );
  const change = (beside: Beside) => beside.ns - (beside.median_ns ?? 0);
  const most = Math.max(...shown.map(({ key }) => Math.abs(change(parts[key]))), 1);
  return (
    <div>
      <h4 title={by === "phase" ? DEFINITIONS.phases : DEFINITIONS.activity}>
        {by === "phase" ? "Phases" : "Activity"}
        {ofFew && <span class="faint">{`, the usual one of ${plural(found.deep_peers, "step")} in depth`}</span>}
      </h4>
      <table class="plain difference">
        <Head first={by === "phase" ? "Phase" : "Class"} isOnly={isOnly} />
        <tbody>
          {shown.map(({ key, label, title, color }) => (
            <tr key={key} title={title}>
              <th scope="row">
                <span class="swatch" style={{ background: color }} />
                {label}
              </th>
              <td class="num" title={exact(parts[key].ns)} data-testid={`compare-${key}`} data-ns={parts[key].ns}>
                {duration(parts[key].ns)}
              </td>
              {!isOnly && (
                <>
                  <td class="num faint" title={exact(parts[key].median_ns)}>
                    {duration(parts[key].median_ns)}
                  </td>
                  <Delta ns={change(parts[key])} most={most} />
                </>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head({ first, counts, isOnly }: { first: string; counts?: boolean; isOnly?: boolean }): JSX.Element {
  return (
    <thead>
      <tr>
        <th scope="col">{first}</th>
        {counts && (
          <th scope="col" class="num" title="How often it ran in this step, and usually.">
            Count
          </th>
        )}
        <th scope="col" class="num">
          This step
        </th>
        {!isOnly && (
          <>
            <th scope="col" class="num" title={DEFINITIONS.usualStep}>
              Usual
            </th>
            <th scope="col" class="num" title="This step less the usual time. To the right: more.">
              Difference
            </th>
          </>
        )}
      </tr>
    </thead>
  );
}

function Work(props: {
  of: Differences | null;
  found: CompareAnswer;
  title: string;
  definition: string;
  testId: string;
}): JSX.Element | null {
  const { of, found, title, definition, testId } = props;
  if (!of) return null;
  const rows = of.rows.slice(0, MOST_ROWS);
  const left = of.rows.slice(MOST_ROWS).reduce((sum, row) => sum + row.delta_ns, of.rest_ns);
  const most = Math.max(...rows.map((row) => Math.abs(row.delta_ns)), Math.abs(left), 1);
  return (
    <div>
      <h4 title={definition}>
        {title} {found.deep_peers > 1 && <Change ns={of.delta_ns} />}
      </h4>
      {rows.length === 0 ? (
        <Absent>
          {found.deep_peers < 2
            ? "No other step was captured in depth, so what is usual is not known."
            : "Every name takes as long as usual."}
        </Absent>
      ) : (
        <table class="plain difference" data-testid={testId}>
          <Head first="Name" counts />
          <tbody>
            {rows.map((row) => (
              <tr key={row.name} title={row.name}>
                <th scope="row" class="clip">
                  {row.row === null ? (
                    <bdi>{brief(row.name)}</bdi>
                  ) : (
                    <button
                      type="button"
                      class="text-link"
                      title={`${row.name}\nShow the longest one in the timeline`}
                      onClick={() => openStep(found.origin_ns, placeOf(found), 0, row.row)}
                    >
                      <bdi>{brief(row.name)}</bdi>
                    </button>
                  )}
                </th>
                <td class="num">
                  {count(row.count)}
                  {row.count !== row.median_count && <span class="faint"> vs {count(row.median_count)}</span>}
                </td>
                <td class="num" title={exact(row.ns)}>
                  {duration(row.ns)}
                </td>
                <td class="num faint" title={exact(row.median_ns)}>
                  {duration(row.median_ns)}
                </td>
                <Delta ns={row.delta_ns} most={most} />
              </tr>
            ))}
            {of.count > rows.length && (
              <tr>
                <th scope="row" class="faint" colSpan={4}>
                  {plural(of.count - rows.length, "other name")}
                </th>
                <Delta ns={left} most={most} />
              </tr>
            )}
          </tbody>
        </table>
      )}
    </div>
  );
}

function dataOf(found: CompareAnswer): CardData {
  const parts = (
    what: string,
    of: Record<string, Beside> | null,
    labels: Record<string, string>,
    keys: readonly string[],
  ) =>
    keys.flatMap((key) => {
      const beside = of?.[key];
      return beside
        ? [[what, labels[key], null, null, beside.ns, beside.median_ns, beside.ns - (beside.median_ns ?? 0)]]
        : [];
    });
  const work = (what: string, of: Differences | null) =>
    (of?.rows ?? []).map((row) => [what, row.name, row.count, row.median_count, row.ns, row.median_ns, row.delta_ns]);
  return {
    columns: [
      { label: "Of", unit: "text" },
      { label: "Name", unit: "text" },
      { label: "Count", unit: "count" },
      { label: "Usual count", unit: "count" },
      { label: "This step", unit: "ns" },
      { label: "Usual", unit: "ns", title: DEFINITIONS.usualStep },
      { label: "Difference", unit: "ns" },
    ],
    rows: [
      ...parts("activity", found.activity, ACTIVITY_LABELS, ACTIVITIES),
      ...parts("phase", found.phase, PHASE_LABELS, PHASES),
      ...work("device", found.device_work),
      ...work("host", found.host_work),
    ],
  };
}
