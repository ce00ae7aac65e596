// The modules of the model as a flame graph, of all steps captured in depth or of the selected ones.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { boxesOf, find, flameOf, grouped, stem, type Flame, type Measure } from "../charts/flame";
import { textOn } from "../color";
import { getModules, type Chosen, type ModulesAnswer } from "../dashboard/requests";
import { DEFINITIONS } from "../definitions";
import { count, duration, exact, percent, plural } from "../format";
import { nameHash, SERIES_COLORS } from "../palette";
import { adjustDashboard, nav, theme } from "../state";
import { isolated } from "../timeline/text";
import { Card, type CardData } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Absent, Await } from "../ui/states";
import { Toggle } from "../ui/toggle";

const ROW = 22; // pixels
const NO_MODULES =
  "The capture tells no modules. PyTorch tells them with_stack=True, an option of torch.profiler and of stepscope's Profiler; TensorFlow and JAX by name scopes.";

/** `chosen`: null for the whole capture. */
export function ModuleFlame({ chosen }: { chosen: Chosen | null }): JSX.Element {
  const loaded = useFetched(`modules ${JSON.stringify(chosen)}`, (key, signal) => getModules(key, chosen, signal));
  const answer = loaded.value;
  const { flame, each } = nav.value.dashboard;
  const modules = answer?.modules ?? null;
  const measures = useMemo(() => measuresOf(answer), [answer]);
  const measure = flame !== null && measures.includes(flame) ? flame : (measures[0] ?? "device");
  const { root, rest } = useMemo(() => {
    const made = flameOf(modules ?? [], measure);
    return { root: each ? made.root : grouped(made.root), rest: made.rest };
  }, [modules, measure, each]);
  const hasGroups = useMemo(() => !each && someGroup(root), [root, each]);
  return (
    <Card
      title="Modules"
      definition={DEFINITIONS.flame}
      basis={answer && root.ns > 0 && <Basis answer={answer} root={root} rest={rest} measure={measure} all={!chosen} />}
      data={modules ? () => dataOf(modules) : undefined}
      testId="module-flame"
      actions={
        <>
          {(hasGroups || each) && (
            <label
              class="check no-picture"
              title="Modules made the same way, such as the layers of a transformer, as one box"
            >
              <input
                type="checkbox"
                checked={!each}
                onChange={(event) => adjustDashboard({ each: !event.currentTarget.checked, module: [] })}
              />
              Equal modules as one
            </label>
          )}
          {measures.length > 1 && (
            <Toggle
              label="Time"
              value={measure}
              choices={[
                {
                  value: "device",
                  label: "Device",
                  title: "Device work launched in the module and in its backward pass",
                },
                { value: "host", label: "Host", title: "Time on the host inside the module and its backward nodes" },
              ]}
              onChoose={(value) => adjustDashboard({ flame: value as Measure })}
            />
          )}
        </>
      }
    >
      <Await of={loaded} what="the modules">
        {(value) =>
          value.modules === null ? (
            <Absent>
              {chosen && value.steps === 0 ? "None of the selected steps was captured in depth." : NO_MODULES}
            </Absent>
          ) : root.ns === 0 ? (
            <Absent>No module has time here.</Absent>
          ) : (
            <Boxes root={root} cut={value.count >= value.modules.length ? value.count : null} />
          )
        }
      </Await>
    </Card>
  );
}

function measuresOf(answer: ModulesAnswer | null): Measure[] {
  const has = (measure: Measure) =>
    (answer?.modules ?? []).some((row) => row.path.length > 0 && (row[`forward_${measure}_total_ns`] ?? 0) > 0);
  return (["device", "host"] as const).filter(has);
}

const someGroup = (node: Flame): boolean => node.count > 1 || node.children.some(someGroup);

function Basis(props: {
  answer: ModulesAnswer;
  root: Flame;
  rest: number;
  measure: Measure;
  all: boolean;
}): JSX.Element {
  const { answer, root, rest, measure, all } = props;
  const of = all ? "the whole capture" : `from the first to the last of ${plural(answer.steps, "selected step")}`;
  const where = measure === "device" ? "Device work" : "Host time";
  return (
    <span title={exact(root.ns)}>
      {`${where} of ${plural(answer.count, "module")}, ${of}: ${duration(root.ns)}, forward ${duration(root.forward)}, backward ${root.backward > 0 ? duration(root.backward) : "not told or none"}. `}
      {rest > 0 && measure === "device" && `${duration(rest)} more belongs to no module.`}
    </span>
  );
}

function Boxes({ root, cut }: { root: Flame; cut: number | null }): JSX.Element {
  const [lit, setLit] = useState<Flame | null>(null);
  const at = find(root, nav.value.dashboard.module);
  const { boxes, depth, hidden } = useMemo(() => boxesOf(at), [at]);
  const open = (node: Flame) => adjustDashboard({ module: node.path });
  const palette = SERIES_COLORS[theme.value];
  const crumbs = at.path.map((name, i) => ({ name, path: at.path.slice(0, i + 1) }));
  return (
    <>
      {at.path.length > 0 && (
        <nav class="crumbs" aria-label="Module on show">
          <button type="button" class="text-link" onClick={() => adjustDashboard({ module: [] })}>
            All modules
          </button>
          {crumbs.map(({ name, path }, i) => (
            <span key={i}>
              {" › "}
              {i < crumbs.length - 1 ? (
                <button type="button" class="text-link" onClick={() => adjustDashboard({ module: path })}>
                  <bdi>{name}</bdi>
                </button>
              ) : (
                <bdi>{name}</bdi>
              )}
            </span>
          ))}
        </nav>
      )}
      <div class="flame" style={{ height: `${depth * ROW}px` }} onPointerLeave={() => setLit(null)}>
        {boxes.map(({ node, depth: row, left, width }) => {
          const color = node.path.length === 0 ? null : palette[nameHash(stem(node.name)) % palette.length];
          return (
            <button
              key={JSON.stringify(node.path)}
              type="button"
              class={`flame-box${color === null ? " root" : ""}`}
              style={{
                left: `${100 * left}%`,
                width: `${100 * width}%`,
                top: `${row * ROW}px`,
                background: color ?? undefined,
                color: color ? textOn(color) : undefined,
              }}
              aria-label={`${isolated(node.name || "All modules")}${node.count > 1 ? ` ×${node.count}` : ""}: ${duration(node.ns)}, ${percent(node.ns / root.ns)} of all modules`}
              onClick={() => open(node)}
              onPointerEnter={() => setLit(node)}
              onFocus={() => setLit(node)}
              onBlur={() => setLit(null)}
            >
              {width > 0.02 && (
                <span>
                  <bdi>{node.name || "All modules"}</bdi>
                  {node.count > 1 && ` ×${node.count}`}
                </span>
              )}
            </button>
          );
        })}
      </div>
      <p class="chart-note flame-note" role="status">
        {lit ? (
          <Told node={lit} root={root} parent={at} />
        ) : (
          <span class="no-picture">Point at a box for its times; click one to fill the width with it.</span>
        )}
        {!lit && hidden > 0 && ` ${plural(hidden, "box", "boxes")} too narrow to draw.`}
        {!lit && cut !== null && ` The capture has ${count(cut)} modules; not all are sent.`}
      </p>
    </>
  );
}

function Told({ node, root, parent }: { node: Flame; root: Flame; parent: Flame }): JSX.Element {
  const own = node.ns - node.children.reduce((sum, child) => sum + child.ns, 0);
  return (
    <>
      <b>
        <bdi>{node.name || "All modules"}</bdi>
        {node.count > 1 && ` ×${node.count}`}
      </b>
      {` ${duration(node.ns)} (${exact(node.ns)}), ${percent(node.ns / root.ns)} of all modules`}
      {parent !== root && `, ${percent(node.ns / parent.ns)} of the one on show`}
      {`; own ${duration(Math.max(own, 0))}; forward ${duration(node.forward)}, backward ${duration(node.backward)}`}
      {node.calls !== null && `; ${plural(node.calls, "call")}`}
    </>
  );
}

function dataOf(modules: NonNullable<ModulesAnswer["modules"]>): CardData {
  return {
    columns: [
      { label: "Module", unit: "text" },
      { label: "Calls", unit: "count" },
      { label: "Forward, device", unit: "ns", title: DEFINITIONS.moduleDevice },
      { label: "own", unit: "ns", title: DEFINITIONS.moduleDeviceSelf },
      { label: "Backward, device", unit: "ns", title: DEFINITIONS.moduleBackward },
      { label: "Forward, host", unit: "ns" },
      { label: "own, host", unit: "ns", title: DEFINITIONS.moduleHost },
      { label: "Backward, host", unit: "ns" },
    ],
    rows: modules.map((row) => [
      row.path.join(" › ") || "(no module)",
      row.calls,
      row.forward_device_total_ns,
      row.forward_device_self_ns,
      row.backward_device_total_ns,
      row.forward_host_total_ns,
      row.forward_host_self_ns,
      row.backward_host_total_ns,
    ]),
  };
}
