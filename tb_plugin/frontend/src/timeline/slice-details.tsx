// Everything about the selected slice: its numbers, its arguments, its connections as buttons.

import type { JSX } from "preact";
import type { Connection, SliceAnswer } from "../api";
import { clock, count, duration, exact, plural } from "../format";
import { Kind, KIND_NAMES } from "../kinds";
import { brief } from "../names";
import { kindColor } from "../palette";
import { nav, part, theme } from "../state";
import { timeline } from "./model";
import { GraphLink } from "../tabs/xla-link";
import { lanePath } from "./tree";

const selectedOf = part("of");

export function SliceDetails({ slice }: { slice: SliceAnswer }): JSX.Element {
  const kind = Kind[slice.kind.toUpperCase() as keyof typeof Kind] ?? -1;
  const zero = timeline.whole.value.t0;
  const start = slice.start - zero;
  const of = selectedOf.value;
  // The stack has a place of its own.
  const args = Object.entries(slice.args ?? {}).filter(([name]) => name !== "Call stack" || !slice.stack?.length);
  return (
    <div class="slice" data-testid="slice-details" data-row={slice.row}>
      <div class="slice-facts">
        <h3 title={slice.name}>
          {kind >= 0 && <span class="swatch" style={{ background: kindColor(theme.value, kind) }} />}
          <span>
            <bdi data-testid="slice-name">{slice.name || "(unnamed)"}</bdi>{" "}
            <span class="faint">{KIND_NAMES[kind] ?? slice.kind.toLowerCase().replaceAll("_", " ")}</span>
          </span>
        </h3>
        <dl class="pairs">
          <Pair label="Duration" value={duration(slice.dur)} more={exact(slice.dur)} testId="slice-duration" />
          <Pair
            label="Self"
            value={duration(slice.self)}
            more={
              slice.self !== null && slice.self < slice.dur
                ? `${((slice.self / slice.dur) * 100).toFixed(1)} % outside its children`
                : undefined
            }
          />
          {of === null && <Pair label="Start" value={duration(start)} more={exact(start)} />}
          <Pair label="At" value={clock(BigInt(slice.origin_ns) + BigInt(Math.round(slice.start)))} />
          <Pair label="Lane" value={(of === null && lanePath(timeline.tree.value, slice.lane)) || slice.lane_name} />
          {slice.step !== null && slice.step >= 0 && <Pair label="Step" value={String(slice.step)} />}
          {slice.operator && slice.operator.row !== slice.row && (
            <div>
              <dt>Operator</dt>
              <dd>
                <button
                  type="button"
                  class="inline-link"
                  data-testid="slice-operator"
                  onClick={() => slice.operator && go(slice.operator.row)}
                >
                  {slice.operator.name}
                </button>
              </dd>
            </div>
          )}
          {slice.modules && slice.modules.length > 0 && (
            <Pair label="Module" value={slice.modules.map(moduleName).join(" › ")} testId="slice-module" />
          )}
        </dl>
        {of !== null && <OtherWorker worker={of} />}
      </div>
      <div class="slice-args">
        <h4>Arguments</h4>
        {args.length === 0 ? (
          <p class="faint">None recorded.</p>
        ) : (
          <dl class="pairs mono">
            {args.map(([name, value]) => (
              <Pair key={name} label={name} value={argText(value)} />
            ))}
          </dl>
        )}
        {of === null && <GraphLink args={slice.args} />}
        {slice.stack && slice.stack.length > 0 && <Stack frames={slice.stack} />}
      </div>
      <div class="slice-links">
        <h4>
          Connections{slice.connections.length > 0 && <span class="faint"> {count(slice.connections.length)}</span>}
        </h4>
        {slice.connections.length === 0 ? (
          <p class="faint">None.</p>
        ) : (
          <ul>
            {slice.connections.slice(0, 200).map((to) => (
              <li key={`${to.type}-${to.row}`}>
                <Link to={to} />
              </li>
            ))}
            {slice.connections.length > 200 && (
              <li class="faint">{plural(slice.connections.length - 200, "more connection")}</li>
            )}
          </ul>
        )}
      </div>
    </div>
  );
}

/** Arguments are data of the trace: strings as they are, everything else as JSON. */
export function argText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

export function Pair({
  label,
  value,
  more,
  testId,
}: {
  label: string;
  value: string;
  more?: string;
  testId?: string;
}): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd data-testid={testId}>
        <bdi>{value}</bdi>
        {more && more !== value && <span class="faint"> {more}</span>}
      </dd>
    </div>
  );
}

export const moduleName = (name: string) => name.replace(/^nn\.Module: /, "");

/** The innermost frame first: that is where one looks. */
export function Stack({ frames }: { frames: readonly string[] }): JSX.Element {
  return (
    <>
      <h4 class="stack-head">
        Stack <span class="faint">{plural(frames.length, "frame")}, innermost first</span>
      </h4>
      <ol class="stack" data-testid="slice-stack">
        {[...frames].reverse().map((frame, i) => (
          <li key={i}>{frame}</li>
        ))}
      </ol>
    </>
  );
}

function OtherWorker({ worker }: { worker: string }): JSX.Element {
  const label = timeline.comparison.ofWorker(worker)?.label ?? worker;
  return (
    <p>
      <button type="button" class="inline-link" data-testid="open-peer" onClick={() => timeline.openPeer(worker)}>
        Open the timeline of {label} here
      </button>
    </p>
  );
}

/** Within another worker's timeline nothing can be centred here: it is opened. */
function go(row: number, known?: Connection): void {
  const { of } = nav.peek();
  if (of !== null) timeline.openPeer(of);
  else void timeline.jump(row, known);
}

const LINK_LABELS: Record<Connection["type"], string> = {
  launch: "launched by",
  run: "runs as",
  forward: "forward of it",
  backward: "backward of it",
  operator: "from operator",
  producer: "handed on by",
  consumer: "handed on to",
};

function Link({ to }: { to: Connection }): JSX.Element {
  return (
    <button
      type="button"
      class="link"
      data-testid={`connection-${to.type}`}
      title={`${to.name}\n${lanePath(timeline.tree.peek(), to.lane)}`}
      onClick={() => go(to.row, to)}
    >
      <span class="link-type">{LINK_LABELS[to.type] ?? to.type}</span>
      <span class="link-name">{brief(to.name)}</span>
      <span class="link-time">
        {duration(to.dur)}
        {to.latency !== null && (
          <span class="faint" title="From the end of the launch to the start of the run">
            {" "}
            {to.latency < 0 ? `began ${duration(-to.latency)} before its end` : `after ${duration(to.latency)}`}
          </span>
        )}
      </span>
    </button>
  );
}
