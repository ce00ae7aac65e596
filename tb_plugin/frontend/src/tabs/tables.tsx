// The Tables tab: kernels, operators, modules, memory operations, launches, annotations, requests, HLO operations; every
// one and in groups.

import type { JSX } from "preact";
import { communicates, mayUseXla, servesRequests } from "../data";
import { adjust, nav, navigate } from "../state";
import { Details } from "../table/details";
import { focusFilter } from "../table/filters";
import { Grid } from "../table/grid";
import { LaunchCharts } from "../table/launch-charts";
import { Roofline } from "../table/roofline";
import { isText, type ColumnInfo, type RowsAnswer } from "../table/requests";
import { TableToolbar } from "../table/toolbar";
import { usePages } from "../table/use-pages";
import { INITIAL_TABLE, TABLES, type TableName, type TableView } from "../table/view";
import { Absent, Await } from "../ui/states";

const LABELS: Record<TableName, string> = {
  kernels: "Kernels",
  operators: "Operators",
  modules: "Modules",
  memory: "Memory operations",
  collectives: "Collectives",
  allocations: "Allocations",
  launches: "Launches",
  annotations: "Annotations",
  requests: "Requests",
  batches: "Batches",
  hlo: "HLO operations",
  hlo_profile: "HLO profile",
};

const change = (patch: Partial<TableView>) => adjust({ tables: { ...nav.peek().tables, ...patch } });
const go = (patch: Partial<TableView>) => navigate({ tables: { ...nav.peek().tables, ...patch } });

export function TablesTab(): JSX.Element {
  const view = nav.value.tables;
  const { pages, answer, problem, columns, said, say } = usePages(view);
  const close = () => {
    go({ open: null });
    document.querySelector<HTMLElement>("[data-testid=table-grid]")?.focus();
  };
  const isEmpty = answer !== null && answer.why_empty !== null;
  return (
    <div class="tables">
      <SubTabs table={view.table} />
      {!isEmpty && (
        <TableToolbar
          view={view}
          answer={answer}
          problem={problem}
          busy={pages.busy.value}
          columns={columns}
          onChange={change}
          onGo={go}
        />
      )}
      {view.table === "launches" && !isEmpty && <LaunchCharts />}
      {view.table === "hlo" && !isEmpty && (
        <Roofline table="hlo" onOpen={(id) => go({ by: "op", within: null, open: id })} />
      )}
      {view.table === "operators" && view.by === "shapes" && !isEmpty && (
        <Roofline table="operators" onOpen={(id) => go({ open: id })} />
      )}
      <div
        class="tables-main"
        id="table-panel"
        role="tabpanel"
        aria-labelledby={`table-${view.table}`}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || view.open === null) return;
          event.preventDefault();
          close();
        }}
      >
        {answer === null ? (
          <Await of={pages.now.value} what="the table">
            {() => null}
          </Await>
        ) : answer.why_empty !== null ? (
          <Empty why={answer.why_empty} />
        ) : (
          <>
            <div class="tables-grid">
              <Grid
                label={LABELS[view.table]}
                pages={pages}
                answer={answer}
                columns={columns}
                ascending={view.ascending}
                open={view.open}
                onSort={(column) => sortBy(column, answer)}
                onOpen={(id) => go({ open: id })}
                onToggle={toggle}
                onType={focusFilter}
                say={say}
              />
              {answer.count === 0 && (
                <Absent>
                  No row meets the filter.{" "}
                  <button type="button" class="inline-link" onClick={() => go({ text: "", bounds: [], within: null })}>
                    Show all {answer.total.toLocaleString("en-US")}
                  </button>
                </Absent>
              )}
            </div>
            {view.open !== null && <Details view={view} answer={answer} id={view.open} onClose={close} onGo={go} />}
          </>
        )}
      </div>
      <p class="sr-only" role="status">
        {said}
      </p>
    </div>
  );
}

function sortBy(column: ColumnInfo, rows: RowsAnswer): void {
  const view = nav.peek().tables;
  const same = rows.sort === column.key;
  change({ sort: column.key, ascending: same ? !view.ascending : isText(column.unit) });
}

function toggle(id: number): void {
  const { toggled } = nav.peek().tables;
  change({ toggled: toggled.includes(id) ? toggled.filter((other) => other !== id) : [...toggled, id] });
}

/** Tables that only some runs have, where the run may, and where a link opens one: that tells why it is empty. */
const offered = (table: TableName): readonly TableName[] =>
  TABLES.filter((name) => {
    if (name === table) return true;
    if (name === "collectives") return communicates.value;
    if (name === "requests" || name === "batches") return servesRequests.value[name];
    return mayUseXla.value || (name !== "hlo" && name !== "hlo_profile");
  });

function SubTabs({ table }: { table: TableName }): JSX.Element {
  const tables = offered(table);
  const show = (name: TableName) => navigate({ tables: { ...INITIAL_TABLE, table: name } });
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const to = tables[(tables.indexOf(table) + by + tables.length) % tables.length];
    show(to);
    document.getElementById(`table-${to}`)?.focus();
  };
  return (
    <div class="tabs subtabs" role="tablist" aria-label="Tables" onKeyDown={onKey}>
      {tables.map((name) => (
        <button
          key={name}
          id={`table-${name}`}
          type="button"
          role="tab"
          class="tab"
          aria-selected={table === name}
          aria-controls="table-panel"
          tabIndex={table === name ? 0 : -1}
          onClick={() => table !== name && show(name)}
        >
          {LABELS[name]}
        </button>
      ))}
    </div>
  );
}

const showTable = (table: TableName) => () => navigate({ tables: { ...INITIAL_TABLE, table } });

function Empty({ why }: { why: string }): JSX.Element {
  return (
    <div class="state table-empty" data-testid="table-empty">
      {EMPTY[why] ?? <p class="state-title">This table has no rows.</p>}
    </div>
  );
}

const EMPTY: Record<string, JSX.Element> = {
  no_window: (
    <>
      <p class="state-title">No step was captured in depth</p>
      <p class="state-detail">
        Kernels, operators, modules and launches are recorded in deep windows, and this worker has none yet. The hook
        opens them by its schedule; a running job opens one when <code>stepscope capture RUN</code> asks for it.
      </p>
    </>
  ),
  no_device: (
    <>
      <p class="state-title">Nothing ran on a device in this capture</p>
      <p class="state-detail">
        The trace holds no kernel: the model ran on the CPU, or the profiler did not record device activity (on a GPU,
        give torch.profiler <code>ProfilerActivity.CUDA</code>).{" "}
        <button type="button" class="inline-link" onClick={showTable("operators")}>
          See the operators on the host
        </button>
      </p>
    </>
  ),
  no_operator: (
    <>
      <p class="state-title">The capture holds no host operators</p>
      <p class="state-detail">
        Record the CPU as well: <code>ProfilerActivity.CPU</code> in PyTorch, a host tracer level of 2 in TensorFlow.
      </p>
    </>
  ),
  no_module: (
    <>
      <p class="state-title">The capture tells no modules</p>
      <p class="state-detail">
        PyTorch records module calls with Python frames: <code>with_stack=True</code>. TensorFlow and JAX tell them by
        name scopes.
      </p>
    </>
  ),
  no_memory_operation: (
    <>
      <p class="state-title">No copy and no fill on a device in this capture</p>
      <p class="state-detail">
        Nothing was copied or filled while it was recorded, the model ran on the CPU, or the profiler did not record the
        device.{" "}
        <button type="button" class="inline-link" onClick={showTable("allocations")}>
          See the allocations
        </button>
      </p>
    </>
  ),
  no_collective: (
    <>
      <p class="state-title">No collective in this capture</p>
      <p class="state-detail">
        The job has one rank, or no rank talked to others in the steps that were captured. NCCL and RCCL are seen on the
        GPU, gloo on the host, transfers between slices of TPUs in XPlane files.
      </p>
    </>
  ),
  no_allocation: (
    <>
      <p class="state-title">Allocations were not recorded</p>
      <p class="state-detail">
        <code>profile_memory=True</code>, an option of stepscope's Profiler and of torch.profiler, records them in deep
        windows.
      </p>
    </>
  ),
  no_launch: (
    <>
      <p class="state-title">No call put work on a device in this capture</p>
      <p class="state-detail">
        The model ran on the CPU, or the profiler did not record calls into the device's runtime.{" "}
        <button type="button" class="inline-link" onClick={showTable("operators")}>
          See the operators on the host
        </button>
      </p>
    </>
  ),
  no_hlo: (
    <>
      <p class="state-title">Nothing that XLA compiled ran in this capture</p>
      <p class="state-detail">
        Compile the step with <code>jit_compile=True</code> in <code>model.compile</code> or <code>tf.function</code>;
        JAX always does. The XPlane file of the profiler then tells its operations (HLO) and carries the compiled
        programs. PyTorch does not use XLA here: see the operators and kernels instead.{" "}
        <button type="button" class="inline-link" onClick={showTable("operators")}>
          See the operators
        </button>
      </p>
    </>
  ),
  no_request: (
    <>
      <p class="state-title">Nothing stands for a request of inference</p>
      <p class="state-detail">
        <code>with stepscope.annotate("request"):</code> around the work for one request lists it here with its latency,
        as does <code>torch.profiler.record_function("request")</code> in a deep window, and{" "}
        <code>tf.profiler.experimental.Trace("request")</code> in a profile of TensorFlow. Model servers that write
        XPlane files name their requests themselves.
      </p>
    </>
  ),
  no_batch: (
    <>
      <p class="state-title">No batch of requests in this capture</p>
      <p class="state-detail">
        Profiles of TensorFlow tell them where requests are batched: <code>tf.nondifferentiable_batch_function</code>,
        or TensorFlow Serving with batching.
      </p>
    </>
  ),
  no_annotation: (
    <>
      <p class="state-title">The code names no regions</p>
      <p class="state-detail">
        <code>with stepscope.annotate("augment"):</code> around a part of the code lists it here with its durations, as
        do <code>torch.profiler.record_function</code> in a deep window, and <code>jax.profiler.TraceAnnotation</code>{" "}
        in a profile of JAX.
      </p>
    </>
  ),
};
