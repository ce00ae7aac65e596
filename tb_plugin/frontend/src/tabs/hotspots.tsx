// Where the work comes from: the top operators, operations that XLA compiled, modules and annotations.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { AnnotationRow, ModuleRow, OperatorRow, SampledModuleRow, WorkerSummary } from "../api";
import type { HotList } from "../dashboard/view";
import { DEFINITIONS } from "../definitions";
import { count, digits, duration, plural } from "../format";
import { adjustDashboard, nav } from "../state";
import { Meter } from "../ui/meter";
import { Table, type Column } from "../ui/table";
import { Toggle } from "../ui/toggle";
import { AndAllInTables } from "./all-in-tables";
import { tableHeight, time } from "./hot-columns";
import { HloOperations } from "./hot-hlo";

const LABELS: Record<HotList, string> = {
  hlo: "HLO operations",
  operators: "Operators",
  modules: "Modules",
  annotations: "Annotations",
};

/** Nothing where there is no such list: the card of what is not measured says why. */
export function HotSpots({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const deep = worker.modules ?? [];
  const sampled = deep.length === 0 ? (worker.sampled_modules ?? []) : [];
  const listed: Record<HotList, number> = {
    hlo: worker.hlo_operations?.length ?? 0,
    operators: worker.operators?.length ?? 0,
    modules: deep.length + sampled.length,
    annotations: worker.annotations?.length ?? 0,
  };
  const views = (Object.keys(LABELS) as HotList[]).filter((name) => name !== "hlo" || listed.hlo > 0);
  const chosen = nav.value.dashboard.list;
  const has = (name: HotList | null): name is HotList => name !== null && listed[name] > 0;
  const view = has(chosen) ? chosen : views.find(has);
  if (!view) return null;
  const totals = {
    hlo: worker.hlo_operation_count,
    operators: worker.operator_count,
    // The list has an entry more, for what belongs to no module.
    modules: worker.modules_total === null ? null : worker.modules_total + 1,
    annotations: worker.annotation_count,
  };
  return (
    <section class="card flush" aria-label="Operators, modules and annotations">
      <div class="card-head">
        <Toggle
          label="List"
          value={view}
          choices={views.map((name) => ({ value: name, label: LABELS[name], off: listed[name] === 0 && NONE[name] }))}
          onChoose={(name) => adjustDashboard({ list: name as HotList })}
        />
        <span class="card-note">
          {view === "modules" && sampled.length > 0 ? (
            <span title={DEFINITIONS.sampledModules} data-testid="sampled-basis">
              host times in {plural(Math.max(...sampled.map((row) => row.steps)), "sampled step")}; no deep window tells
              modules
            </span>
          ) : (
            <>
              {rowsText(listed[view], totals[view], view)}
              {view === "annotations" && <OtherAnnotations worker={worker} />}
              <AndAllInTables table={view} />
            </>
          )}
        </span>
      </div>
      {view === "hlo" ? (
        <HloOperations rows={worker.hlo_operations ?? []} total={worker.list_ns.hlo_operations ?? 0} />
      ) : view === "operators" ? (
        <Operators rows={worker.operators ?? []} of={worker.list_ns} />
      ) : view === "annotations" ? (
        <Annotations rows={worker.annotations ?? []} />
      ) : sampled.length > 0 ? (
        <SampledModules rows={sampled} />
      ) : (
        <Modules rows={deep} total={worker.list_ns.modules ?? 0} />
      )}
    </section>
  );
}

/** What the regions beyond those that are listed come to. */
function OtherAnnotations({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const others = worker.annotations_others;
  return (
    others && (
      <span data-testid="other-annotations">{`; the others ran ${plural(others.count, "time")}, ${duration(others.total_ns)} in all`}</span>
    )
  );
}

const rowsText = (listed: number, total: number | null, view: HotList) =>
  total !== null && total > listed
    ? `the first ${count(listed)} of ${count(total)}`
    : plural(listed, view === "hlo" ? "operation" : view.slice(0, -1));

const NONE: Record<HotList, string> = {
  hlo: "Nothing that XLA compiled ran",
  operators: "The capture holds no host operators",
  modules: "The capture tells no modules: record it with_stack (PyTorch), or with name scopes (TensorFlow, JAX)",
  annotations: "The code names no regions: stepscope.annotate does",
};

function Operators({ rows, of }: { rows: OperatorRow[]; of: WorkerSummary["list_ns"] }): JSX.Element {
  const columns = useMemo(() => operatorColumns(rows, of), [rows, of]);
  const onDevice = rows.some((row) => row.device_total_ns !== null && row.device_total_ns > 0);
  return (
    <Table
      name="Operators"
      testId="operator"
      count={rows.length}
      columns={columns}
      initial={{ key: onDevice ? "device-self" : "host-self", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

const ratioOf = (ns: number | null, total = 0) => (total > 0 && ns !== null ? ns / total : null);

/** `of`: the self times of all operators, listed or not. */
function operatorColumns(rows: OperatorRow[], of: WorkerSummary["list_ns"]): Column[] {
  const share = (i: number) => ratioOf(rows[i].host_self_ns, of.operators);
  const deviceShare = (i: number) => ratioOf(rows[i].device_self_ns, of.operators_on_devices);
  const mean = (i: number) => {
    const ns = rows[i].host_total_ns;
    return ns === null || rows[i].count === 0 ? null : ns / rows[i].count;
  };
  return [
    { key: "name", label: "Operator", value: (i) => rows[i].name, hint: (i) => rows[i].name },
    {
      key: "count",
      label: "Calls",
      title: DEFINITIONS.count,
      numeric: true,
      value: (i) => rows[i].count,
      cell: (i) => count(rows[i].count),
    },
    time("host-self", "Host self", DEFINITIONS.hostSelf, (i) => rows[i].host_self_ns),
    {
      key: "share",
      label: "Host share",
      title: "Host self time, divided by that of all operators.",
      numeric: true,
      value: share,
      cell: (i) => <Meter ratio={share(i)} />,
    },
    time("host-total", "Host total", DEFINITIONS.hostTotal, (i) => rows[i].host_total_ns),
    time("mean", "Host mean", "Host total divided by the number of calls.", mean),
    ...(rows.some((row) => row.device_total_ns !== null)
      ? [
          time("device-self", "Device self", DEFINITIONS.deviceSelf, (i) => rows[i].device_self_ns),
          {
            key: "device-share",
            label: "Device share",
            title: "Device self time, divided by that of all operators.",
            numeric: true,
            value: deviceShare,
            cell: (i: number) => <Meter ratio={deviceShare(i)} />,
          },
          time("device-total", "Device total", DEFINITIONS.deviceTotal, (i) => rows[i].device_total_ns),
        ]
      : []),
  ];
}

function Modules({ rows, total }: { rows: ModuleRow[]; total: number }): JSX.Element {
  const columns = useMemo(() => moduleColumns(rows, total), [rows, total]);
  const onDevice = rows.some((row) => (row.forward_device_total_ns ?? 0) > 0);
  return (
    <Table
      name="Modules"
      testId="module"
      count={rows.length}
      columns={columns}
      initial={{ key: onDevice ? "device-self" : "host-self", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

function moduleColumns(rows: ModuleRow[], all: number): Column[] {
  const path = (i: number) => rows[i].path.join(" › ");
  const own = (i: number) => rows[i].forward_device_self_ns;
  const share = (i: number) => (all > 0 && own(i) !== null ? (own(i) ?? 0) / all : null);
  const hasBackward = rows.some((row) => row.backward_device_total_ns !== null);
  const onDevice = all > 0;
  return [
    {
      key: "name",
      label: "Module",
      value: path,
      cell: (i) => <ModuleName path={rows[i].path} />,
      hint: (i) => path(i) || "Work that belongs to no module",
    },
    {
      key: "count",
      label: "Calls",
      title: "Forward calls; name scopes have none.",
      numeric: true,
      value: (i) => rows[i].calls,
      cell: (i) => count(rows[i].calls),
    },
    ...(onDevice
      ? [
          time("device-self", "Device self", DEFINITIONS.moduleDeviceSelf, own),
          {
            key: "share",
            label: "Share",
            title: "Device self time, divided by that of all modules.",
            numeric: true,
            value: share,
            cell: (i: number) => <Meter ratio={share(i)} />,
          },
          time("device-total", "Device total", DEFINITIONS.moduleDevice, (i) => rows[i].forward_device_total_ns),
        ]
      : []),
    ...(hasBackward
      ? [time("backward", "Backward", DEFINITIONS.moduleBackward, (i) => rows[i].backward_device_total_ns)]
      : []),
    time("host-self", "Host self", DEFINITIONS.moduleHost, (i) => rows[i].forward_host_self_ns),
    time("host-total", "Host total", "Time on the host inside the calls.", (i) => rows[i].forward_host_total_ns),
  ];
}

/** Of the always-on stream: a mean over the steps in which the module was called. */
function SampledModules({ rows }: { rows: SampledModuleRow[] }): JSX.Element {
  const columns = useMemo(() => sampledColumns(rows), [rows]);
  return (
    <Table
      name="Modules"
      testId="module"
      count={rows.length}
      columns={columns}
      initial={{ key: "total", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

function sampledColumns(rows: SampledModuleRow[]): Column[] {
  const all = rows.reduce((sum, row) => sum + row.forward_host_self_ns, 0);
  const share = (i: number) => (all > 0 ? rows[i].forward_host_self_ns / all : null);
  const calls = (i: number) => rows[i].calls / rows[i].steps;
  return [
    { key: "name", label: "Module", value: (i) => rows[i].name, hint: (i) => rows[i].name },
    {
      key: "calls",
      label: "Calls a step",
      title: "Forward calls, divided by the sampled steps in which the module was called.",
      numeric: true,
      value: calls,
      cell: (i) => digits(calls(i)),
      hint: (i) => `${plural(rows[i].calls, "call")} in ${plural(rows[i].steps, "sampled step")}`,
    },
    time("self", "Host self a step", DEFINITIONS.moduleHost, (i) => rows[i].forward_host_self_ns / rows[i].steps),
    {
      key: "share",
      label: "Share",
      title: "Host self time, divided by that of all modules in the list.",
      numeric: true,
      value: share,
      cell: (i) => <Meter ratio={share(i)} />,
    },
    time(
      "total",
      "Host total a step",
      "Time on the host inside the forward calls.",
      (i) => rows[i].forward_host_total_ns / rows[i].steps,
    ),
  ];
}

/** The module's own name first: the way to it may be long. */
function ModuleName({ path }: { path: string[] }): JSX.Element {
  if (path.length === 0) return <span class="faint">outside of modules</span>;
  return (
    <>
      {path[path.length - 1]} {path.length > 1 && <span class="faint">in {path.slice(0, -1).join(" › ")}</span>}
    </>
  );
}

function Annotations({ rows }: { rows: AnnotationRow[] }): JSX.Element {
  const columns = useMemo(() => annotationColumns(rows), [rows]);
  return (
    <Table
      name="Annotations"
      testId="annotation"
      count={rows.length}
      columns={columns}
      initial={{ key: "total", descending: true }}
      height={tableHeight(rows.length)}
      version={rows}
    />
  );
}

function annotationColumns(rows: AnnotationRow[]): Column[] {
  return [
    { key: "name", label: "Annotation", value: (i) => rows[i].name, hint: (i) => rows[i].name },
    {
      key: "count",
      label: "Count",
      title: DEFINITIONS.count,
      numeric: true,
      value: (i) => rows[i].count,
      cell: (i) => count(rows[i].count),
    },
    time("total", "Total", "Sum of the durations, nested ones included.", (i) => rows[i].total_ns),
    time("p50", "Median", "Half of them were not longer.", (i) => rows[i].p50_ns),
    time("p99", "p99", "99 of 100 were not longer.", (i) => rows[i].p99_ns),
  ];
}
