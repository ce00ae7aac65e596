// Plausible workers made up from a seed: a GPU training with lanes, slices, connections and resource curves.
// The shapes are those of docs/api.md; the contents are invented.

const KIND = {
  STEP: 1,
  PHASE: 2,
  ANNOTATION: 3,
  OP: 4,
  RUNTIME: 6,
  LAUNCH: 7,
  KERNEL: 8,
  COLLECTIVE: 9,
  MEMCPY: 10,
  SYNC: 12,
};
const KIND_NAME = Object.fromEntries(Object.entries(KIND).map(([name, n]) => [n, name.toLowerCase()]));
const MS = 1e6;
export const ORIGIN = 1_751_410_836_000_000_000n;

/** Numbers in [0, 1) that are the same every time (mulberry32). */
export function random(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * A worker. `steps` run one after the other; those in `deep` have operators, launches and kernels.
 * `live(nowMs)` of the server decides how many of them exist yet.
 */
export function makeWorker({ seed, steps, deep, gpu, phases = true, monitor = true }) {
  const rnd = random(seed);
  const slices = []; // {lane, depth, start, dur, name, kind, row, launch?, args}
  const lanes = makeLanes(gpu, phases, monitor);
  const table = {
    id: [],
    label: [],
    start: [],
    host: [],
    duration: [],
    complete: [],
    inferred: [],
    activity: {},
    phase: {},
  };
  const classes = ["kernel", "communication", "memcpy", "memset", "runtime", "dataloader", "cpu", "other"];
  const names = ["input_wait", "h2d", "forward", "backward", "optimizer", "compute", "validation", "other"];
  for (const c of classes) table.activity[c] = [];
  for (const p of names) table.phase[p] = [];
  const add = (slice) => slices.push({ row: slices.length, args: {}, ...slice }) && slices[slices.length - 1];

  let t = 0.4e9;
  for (let n = 0; n < steps; n += 1) {
    const slow = rnd() < 0.02 ? 2.4 : 1;
    const dur = Math.round((38 + 6 * rnd()) * MS * slow);
    const wait = Math.round(dur * (0.06 + 0.1 * rnd()));
    const parts = {
      input_wait: wait,
      h2d: Math.round(dur * 0.04),
      forward: Math.round(dur * 0.27),
      backward: Math.round(dur * 0.42),
      optimizer: Math.round(dur * 0.1),
    };
    parts.other = dur - Object.values(parts).reduce((a, b) => a + b, 0);
    table.id.push(n);
    table.label.push(`step ${n}`);
    table.start.push(t);
    table.host.push(dur);
    table.complete.push(n < steps - 1);
    table.inferred.push(false);
    for (const p of names) table.phase[p].push(phases && p in parts ? parts[p] : null);
    if (phases) {
      add({ lane: 11, depth: 0, start: t, dur, name: `step ${n}`, kind: KIND.STEP });
      let at = t;
      for (const [name, ns] of Object.entries(parts)) {
        add({ lane: 12, depth: 0, start: at, dur: ns, name, kind: KIND.PHASE });
        at += ns;
      }
    }
    const isDeep = deep(n);
    const tail = isDeep && gpu ? Math.round(dur * 0.03) : 0;
    table.duration.push(dur + tail);
    if (isDeep) addDeep(add, rnd, t, parts, gpu, n);
    const share = gpu ? [0.66, 0.09, 0.04, 0.005, 0.03, 0.04, 0.08] : [0, 0, 0, 0, 0, 0.12, 0.74];
    let rest = dur + tail;
    classes.forEach((c, i) => {
      const ns = i === classes.length - 1 ? rest : Math.round((dur + tail) * share[i] * (0.9 + 0.2 * rnd()));
      const value = Math.min(rest, ns);
      rest -= value;
      table.activity[c].push(isDeep ? value : null);
    });
    t += dur + tail + Math.round(0.3 * MS * rnd());
  }
  const byLane = new Map();
  for (const slice of slices) {
    if (!byLane.has(slice.lane)) byLane.set(slice.lane, []);
    byLane.get(slice.lane).push(slice);
  }
  for (const list of byLane.values()) list.sort((a, b) => a.depth - b.depth || a.start - b.start);
  return { lanes, slices, byLane, table, end: t, gpu, monitor, rnd };
}

function makeLanes(gpu, phases, monitor) {
  const lane = (id, parent, type, name, more = {}) => ({
    id,
    parent,
    type,
    name,
    rows: 0,
    events: 0,
    busy_ns: null,
    ...more,
  });
  const lanes = [lane(1, null, "host", "node-07"), lane(2, 1, "process", "rank 0 · pid 4117")];
  if (phases)
    lanes.push(
      lane(10, 2, "group", "Training loop"),
      lane(11, 10, "thread", "Steps"),
      lane(12, 10, "thread", "Phases"),
    );
  lanes.push(
    lane(20, 2, "thread", "MainThread (4117)"),
    lane(21, 2, "thread", "autograd (4153)"),
    lane(22, 2, "thread", "pin memory <b>&amp;</b> (4160)"),
  );
  if (gpu) {
    lanes.push(
      lane(30, 2, "device", "GPU 0 · NVIDIA A100-SXM4-40GB"),
      lane(31, 30, "stream", "stream 7"),
      lane(32, 30, "stream", "stream 20 (nccl)"),
      lane(33, 30, "stream", "stream 9"),
    );
  }
  if (monitor) {
    lanes.push(lane(40, 1, "group", "Resources"));
    for (const [i, series] of monitorSeries(gpu).entries())
      lanes.push(lane(41 + i, 40, "counter", series.label, { series: [series.id] }));
  }
  return lanes;
}

const OPS = ["aten::conv2d", "aten::batch_norm", "aten::relu_", "aten::add_", "aten::linear", "aten::layer_norm"];
const KERNELS = [
  "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32",
  "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int>",
  "void at::native::vectorized_elementwise_kernel<4, relu>",
  "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x6_nn",
];

function addDeep(add, rnd, t, parts, gpu, n) {
  let kernelFree = t + parts.input_wait;
  let commFree = kernelFree;
  const launchWork = (at, dur, name, kind, lane) => {
    const launch = add({
      lane: lane.host,
      depth: 2,
      start: at,
      dur: 4000 + Math.round(3000 * rnd()),
      name: "cudaLaunchKernel",
      kind: KIND.LAUNCH,
    });
    const start = Math.max(at + 6000, lane.comm ? commFree : kernelFree);
    const run = add({
      lane: lane.device,
      depth: 0,
      start,
      dur,
      name,
      kind,
      launch: launch.row,
      args: { grid: [216, 1, 1], block: [128, 1, 1], "registers per thread": 96, correlation: launch.row },
    });
    launch.run = run.row;
    if (lane.comm) commFree = start + dur + 500;
    else kernelFree = start + dur + 400;
  };
  add({
    lane: 20,
    depth: 0,
    start: t,
    dur: parts.input_wait,
    name: "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    kind: 14,
  });
  add({ lane: 22, depth: 0, start: t + 1e5, dur: parts.input_wait, name: "pin memory", kind: KIND.OP });
  const section = (from, length, name, host, back) => {
    add({ lane: host, depth: 0, start: from, dur: length, name, kind: KIND.ANNOTATION });
    const count = 60;
    const each = length / count;
    for (let i = 0; i < count; i += 1) {
      const op = OPS[Math.floor(rnd() * OPS.length)];
      const at = Math.round(from + i * each);
      add({
        lane: host,
        depth: 1,
        start: at,
        dur: Math.round(each * 0.86),
        name: back ? `${op}_backward` : op,
        kind: KIND.OP,
        args: {
          "Input Dims": [
            [64, 256, 56, 56],
            [64, 256, 1, 1],
          ],
          "Sequence number": i,
        },
      });
      if (gpu) {
        launchWork(
          Math.round(at + each * 0.3),
          Math.round(each * (0.5 + 0.55 * rnd())),
          KERNELS[Math.floor(rnd() * KERNELS.length)],
          KIND.KERNEL,
          { host, device: 31 },
        );
        if (back && i % 12 === 11)
          launchWork(
            Math.round(at + each * 0.6),
            Math.round(each * 3.2),
            "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            KIND.COLLECTIVE,
            { host, device: 32, comm: true },
          );
      } else {
        add({
          lane: host,
          depth: 2,
          start: at + 500,
          dur: Math.round(each * 0.6),
          name: "aten::convolution",
          kind: KIND.OP,
        });
      }
    }
  };
  const forward = t + parts.input_wait + parts.h2d;
  if (gpu)
    add({
      lane: 33,
      depth: 0,
      start: t + parts.input_wait,
      dur: parts.h2d,
      name: "Memcpy HtoD (Pinned -> Device)",
      kind: KIND.MEMCPY,
      args: { bytes: 38535168 },
    });
  section(forward, parts.forward, `forward ${n}`, 20, false);
  section(forward + parts.forward, parts.backward, `backward ${n}`, 21, true);
  section(forward + parts.forward + parts.backward, parts.optimizer, "Optimizer.step#AdamW.step", 20, false);
}

export function monitorSeries(gpu) {
  const list = [
    { id: "cpu", label: "CPU", group: "CPU", unit: "ratio", level: 0.45, swing: 0.25 },
    { id: "memory_used", label: "Memory", group: "Memory", unit: "bytes", level: 62e9, swing: 6e9 },
    { id: "network_receive", label: "Network", group: "Network", unit: "bytes_per_s", level: 240e6, swing: 200e6 },
  ];
  if (gpu) list.splice(1, 0, { id: "gpu.0", label: "GPU 0", group: "GPU", unit: "ratio", level: 0.82, swing: 0.17 });
  return list;
}

/** The lanes' sizes and extent up to time `until`. */
export function tree(worker, until) {
  const lanes = worker.lanes.map((lane) => {
    const mine = (worker.byLane.get(lane.id) ?? []).filter((s) => s.start + s.dur <= until);
    const busy = mine.filter((s) => s.depth === 0).reduce((sum, s) => sum + s.dur, 0);
    const rows = mine.reduce((most, s) => Math.max(most, s.depth + 1), 0);
    return {
      ...lane,
      rows,
      events: mine.length,
      busy_ns: lane.type === "thread" || lane.type === "stream" ? busy : null,
    };
  });
  const n = worker.table.start.filter((start, i) => start + worker.table.duration[i] <= until).length;
  const { id, start, duration } = worker.table;
  return {
    origin_ns: String(ORIGIN),
    t0: 0,
    t1: Math.round(Math.min(until, worker.end)),
    steps: { id: id.slice(0, n), start: start.slice(0, n), end: start.slice(0, n).map((s, i) => s + duration[i]) },
    lanes,
  };
}

/** Rectangles of a viewport as columns: slices of a pixel or more stand alone, smaller neighbours share one. */
export function view(worker, until, t0, t1, px, lanes) {
  const pixel = Math.max(1, Math.floor((t1 - t0) / px));
  const columns = { lane: [], depth: [], start: [], dur: [], count: [], busy: [], name: [], kind: [], row: [] };
  for (const lane of [...lanes].sort((a, b) => a - b)) {
    let open = null;
    const close = () => {
      if (!open) return;
      const { first, end, count, busy, longest } = open;
      const values = {
        lane,
        depth: first.depth,
        start: first.start,
        dur: end - first.start,
        count,
        busy,
        name: longest.name,
        kind: longest.kind,
        row: longest.row,
      };
      for (const key in columns) columns[key].push(values[key]);
      open = null;
    };
    for (const s of worker.byLane.get(lane) ?? []) {
      if (s.start >= t1 || s.start + s.dur < t0 || s.start + s.dur > until) continue;
      const bin = Math.floor(s.start / pixel);
      if (open && s.dur < pixel && open.small && open.bin === bin && open.first.depth === s.depth) {
        open.count += 1;
        open.busy += s.dur;
        open.end = Math.max(open.end, s.start + s.dur);
        if (s.dur > open.longest.dur) open.longest = s;
        continue;
      }
      close();
      open = { first: s, end: s.start + s.dur, count: 1, busy: s.dur, longest: s, bin, small: s.dur < pixel };
    }
    close();
  }
  return columns;
}

export function slice(worker, row) {
  const s = worker.slices[row];
  if (!s) return null;
  const link = (type, other) => {
    const to = worker.slices[other];
    const [launch, run] = type === "launch" ? [to, s] : [s, to];
    const latency = Math.max(0, run.start - launch.start - launch.dur);
    return { type, row: to.row, name: to.name, lane: to.lane, depth: to.depth, start: to.start, dur: to.dur, latency };
  };
  const connections = [];
  if (s.launch !== undefined) connections.push(link("launch", s.launch));
  if (s.run !== undefined) connections.push(link("run", s.run));
  const children = (worker.byLane.get(s.lane) ?? []).filter(
    (c) => c.depth === s.depth + 1 && c.start >= s.start && c.start + c.dur <= s.start + s.dur,
  );
  return {
    origin_ns: String(ORIGIN),
    row,
    name: s.name,
    kind: s.kind === 14 ? "dataloader" : (KIND_NAME[s.kind] ?? "other"),
    lane: s.lane,
    lane_name: worker.lanes.find((lane) => lane.id === s.lane)?.name ?? "",
    depth: s.depth,
    start: s.start,
    dur: s.dur,
    self: s.dur - children.reduce((sum, c) => sum + c.dur, 0),
    step: null,
    args: s.args,
    connections,
  };
}

export function resources(worker, until, t0, t1, points) {
  const interval = 5e8;
  const from = Math.max(0, t0 ?? 0);
  const to = Math.min(until, worker.end, t1 ?? Infinity);
  const samples = Math.max(0, Math.floor((to - from) / interval));
  const every = Math.max(1, Math.ceil(samples / points));
  const series = (worker.monitor ? monitorSeries(worker.gpu) : []).map((one, k) => {
    const out = { id: one.id, label: one.label, group: one.group, unit: one.unit, t: [], mean: [], min: [], max: [] };
    for (let i = 0; i < samples; i += every) {
      const t = from + i * interval;
      const wave = Math.sin(t / 3e9 + k) * 0.6 + Math.sin(t / 7e8 + 2 * k) * 0.4;
      const gap = t > 6e9 && t < 7e9 && k === 0;
      const mean = gap ? null : Math.max(0, one.level + one.swing * wave * 0.8);
      out.t.push(Math.round(t));
      out.mean.push(mean);
      out.min.push(mean === null ? null : mean * 0.9);
      out.max.push(mean === null ? null : Math.min(one.unit === "ratio" ? 1 : Infinity, mean * 1.12));
    }
    return out;
  });
  return { origin_ns: String(ORIGIN), interval_ms: 500, series };
}

const top = (n, least) => ({
  p50: least,
  p90: least * 1.2,
  p95: least * 1.3,
  p99: least * 2.1,
  min: least * 0.9,
  max: least * 2.4,
  mean: least * 1.05,
  count: n,
});

const IDLE = {
  device: 0,
  stream: null,
  events: 41_000,
  span_ns: 9e9,
  busy_ns: 7.2e9,
  idle_ns: 1.8e9,
  host_wait_ns: 1.2e9,
  kernel_wait_ns: 5e8,
  other_ns: 1e8,
};
const COMMUNICATION = {
  total_ns: 1.4e9,
  exposed_ns: 4e8,
  overlapped_ns: 1e9,
  overlap: 0.714,
  collective_count: 1,
  collectives: [
    {
      name: "all_reduce",
      group: "0",
      group_description: "default_pg",
      group_size: 8,
      device: true,
      count: 120,
      total_ns: 1.4e9,
      min_ns: 4e6,
      max_ns: 3e7,
      exposed_ns: 4e8,
      bytes: 9.6e10,
      bytes_known: 120,
      algbw_bytes_per_s: 6.9e10,
      busbw_bytes_per_s: 1.2e11,
      slack_ns: 1.1e9,
      slack_known: 120,
      slack_from: "calls",
      stall_ns: 3e8,
      in_slack: 80,
      needed_algbw_bytes_per_s: 8.8e10,
      needed_busbw_bytes_per_s: 1.54e11,
    },
  ],
};
const SYNCHRONISATION = {
  calls: [{ name: "cudaStreamSynchronize", count: 80, total_ns: 6e8, max_ns: 2e7 }],
  by_operator: [
    { operator: "aten::_local_scalar_dense", name: "cudaStreamSynchronize", count: 75, total_ns: 5.9e8 },
    { operator: null, name: "cudaStreamSynchronize", count: 5, total_ns: 1e7 },
  ],
  by_operator_count: 2,
};
const MEMORY = {
  device: 0,
  allocator: null,
  is_absolute: true,
  allocations: 5000,
  frees: 4990,
  start_bytes: 8e9,
  end_bytes: 8.1e9,
  peak_bytes: 2.1e10,
  peak_ns: 6e7,
  peak_reserved_bytes: 2.4e10,
  curve: {
    ts_ns: Array.from({ length: 200 }, (_, i) => i * 1e6),
    allocated: Array.from({ length: 200 }, (_, i) => 8e9 + 1.3e10 * Math.sin(((i % 100) / 100) * Math.PI)),
    reserved: Array.from({ length: 200 }, () => 2.4e10),
  },
  at_peak: { earlier_bytes: 7e9, operators: [{ name: "aten::addmm", count: 90, bytes: 9e9 }], modules: null },
};

export function summary(worker, until) {
  const n = worker.table.start.filter((start, i) => start + worker.table.duration[i] <= until).length;
  const durations = worker.table.duration.slice(0, n).sort((a, b) => a - b);
  const at = (q) => durations[Math.min(n - 1, Math.ceil(q * n) - 1)] ?? 0;
  const byName = new Map();
  for (const s of worker.slices) {
    if (s.start + s.dur > until || ![KIND.KERNEL, KIND.COLLECTIVE, KIND.OP].includes(s.kind)) continue;
    const row = byName.get(s.name) ?? { name: s.name, kind: s.kind, count: 0, total: 0, min: Infinity, max: 0 };
    row.count += 1;
    row.total += s.dur;
    row.min = Math.min(row.min, s.dur);
    row.max = Math.max(row.max, s.dur);
    byName.set(s.name, row);
  }
  const rows = [...byName.values()].sort((a, b) => b.total - a.total);
  const kernels = rows
    .filter((r) => r.kind !== KIND.OP)
    .map((r) => ({
      name: r.name,
      kind: r.kind === KIND.COLLECTIVE ? "communication" : "compute",
      count: r.count,
      total_ns: r.total,
      clipped_ns: r.total,
      mean_ns: r.total / r.count,
      min_ns: r.min,
      max_ns: r.max,
      precision: r.kind === KIND.COLLECTIVE ? null : "bf16",
      matrix_units: r.name.includes("gemm"),
      blocks_per_sm: 4.2,
      occupancy: null,
    }));
  const operators = rows
    .filter((r) => r.kind === KIND.OP)
    .map((r) => ({
      name: r.name,
      count: r.count,
      host_total_ns: r.total,
      host_self_ns: Math.round(r.total * 0.7),
      device_total_ns: worker.gpu ? Math.round(r.total * 0.9) : null,
      device_self_ns: worker.gpu ? Math.round(r.total * 0.8) : null,
    }));
  const deep = worker.table.activity.kernel.slice(0, n).filter((v) => v !== null).length;
  const sums = (columns) => {
    const parts = Object.entries(columns).map(([name, values]) => {
      const told = values.slice(0, n).filter((v) => v !== null);
      return [name, told.length > 0 ? told.reduce((a, b) => a + b, 0) : null];
    });
    return parts.some(([, sum]) => sum !== null) ? Object.fromEntries(parts) : null;
  };
  const phased = worker.table.phase.other.slice(0, n).filter((v) => v !== null).length;
  return {
    worker: {
      worker: "0-node-07-4117",
      rank: worker.gpu ? 0 : null,
      world_size: worker.gpu ? 8 : null,
      host: "node-07",
      pid: 4117,
      framework: worker.gpu ? "pytorch" : "tensorflow",
      devices: worker.gpu ? [{ id: 0, name: "NVIDIA A100-SXM4-40GB", sm_count: 108, memory_bytes: 42297786368 }] : [],
      events: worker.slices.length,
      step_count: n,
      overhead: phased > 0 ? { stall_ns: 1.8e7, hook_ns_per_step: 24_000, ratio: 0.0012 } : null,
      activity_total_ns: sums(worker.table.activity),
      phase_total_ns: sums(worker.table.phase),
      gpu: worker.gpu
        ? [
            {
              device: 0,
              busy_ns: 7.1e9,
              utilization_steps: 0.7231,
              utilization_window: 0.7012,
              sm_efficiency: 0.61,
              occupancy: null,
              tensor_core_time: 0.44,
            },
          ]
        : [],
      gpu_count: worker.gpu ? 1 : 0,
      idle: { kernel_wait_threshold_ns: 30_000, devices: worker.gpu ? [IDLE] : [] },
      precision_ns: worker.gpu ? { fp32: 1.1e9, bf16: 5.2e9, other: 2e8 } : null,
      communication: worker.gpu ? COMMUNICATION : null,
      synchronisation: worker.gpu ? SYNCHRONISATION : null,
      memory: worker.gpu ? [MEMORY] : null,
      memory_count: worker.gpu ? 1 : null,
      modules: null,
      modules_total: null,
      trust: {
        sentence: "Read launches with care (clock_skew, launch_without_run); no event was left out.",
        events_kept: worker.slices.length,
        events_left_out: 0,
        weakens: [{ code: "clock_skew", count: 2, fields: ["launches"] }],
      },
      kernels,
      kernel_count: kernels.length,
      operators,
      operator_count: operators.length,
      memcpy: worker.gpu
        ? {
            HtoD: { count: 310, bytes: 1.2e10, time_ns: 4.9e8, bytes_per_s: 2.44e10 },
            DtoH: { count: 12, bytes: null, time_ns: 90_000, bytes_per_s: null },
          }
        : {},
      launches: worker.gpu
        ? {
            count: 41_233,
            linked: 41_230,
            without_run: 3,
            runs_without_launch: 0,
            latency_ns: { p50: 6400, p90: 21_000, p99: 180_000, max: 2_100_000 },
            queue_wait_ns: { p50: 0, p90: 9000, p99: 160_000, max: 2_000_000 },
            overhead_ns: { p50: 6100, p90: 12_000, p99: 20_000, max: 100_000 },
            negative: 2,
            short_kernels: 1204,
            short_kernel_ns: 3e6,
            short_call_ns: 8e6,
          }
        : null,
      annotations: [],
      annotation_count: 0,
      quality: worker.gpu
        ? [
            {
              code: "clock_skew",
              count: 2,
              detail: "2 kernels seem to start before their launch ended; their latency counts as 0.",
            },
            {
              code: "launch_without_run",
              count: 3,
              detail: "3 launches have no kernel in the trace: the capture ended before they ran.",
            },
          ]
        : [],
    },
    step_time_ns: n > 0 ? { ...top(n, at(0.5)), p95: at(0.95) } : null,
    resources: null,
    findings: [],
    verdict: null,
    metadata: null,
    coverage: {
      steps: n,
      deep_steps: deep,
      phased_steps: phased,
      windows: deep > 0 ? 1 : 0,
      first_ns: 0,
      last_ns: until,
    },
    options: { monitor_interval_ms: 500 },
    versions: worker.gpu
      ? { torch: "2.13.0", cuda: "12.8", python: "3.11.7" }
      : { tensorflow: "2.21.0", keras: "3.15.0", python: "3.11.7" },
    refused: null,
  };
}
