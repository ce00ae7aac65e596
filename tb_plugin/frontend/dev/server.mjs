// A server with made-up runs for work on the pages: `node build.mjs && node dev/server.mjs [port]`.
// /            the pages in an iframe, as TensorBoard shows them, with its Content-Security-Policy and a dark mode switch
// /?empty      the same over an empty log directory
// The runs: one live, one imported GPU trace, one being imported, one that fails, one with a hostile name, many small ones.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import {
  tableFromArrays,
  tableToIPC,
  dictionary,
  utf8,
  int16,
  int32,
  uint8,
  float64,
  int32 as key32,
} from "@uwdata/flechette";
import * as model from "./model.mjs";

const port = Number(process.argv[2] ?? 6007);
const began = Date.now();
const STATIC = new URL("../../stepscope_tensorboard/static/", import.meta.url);
const TYPES = { js: "text/javascript", css: "text/css", txt: "text/plain" };
const CSP =
  "default-src 'self';font-src 'self' data:;frame-ancestors *;frame-src 'self' https://ui.perfetto.dev;" +
  "img-src 'self' data: blob:;object-src 'none';style-src 'self' https://www.gstatic.com data: 'unsafe-inline';" +
  "connect-src 'self';script-src 'self' 'unsafe-eval'";

const workers = {
  live: model.makeWorker({ seed: 1, steps: 40_000, deep: (n) => n >= 40 && n < 45, gpu: true }),
  trace: model.makeWorker({ seed: 2, steps: 5, deep: () => true, gpu: true, phases: false, monitor: false }),
  keras: model.makeWorker({ seed: 3, steps: 2310, deep: (n) => n >= 10 && n < 15, gpu: false }),
};
const HOSTILE = '<img src=x onerror="document.title=1">';

function runs() {
  const worker = (id, rank, live = false) => ({
    id,
    source: id === "rank0" ? "file" : "recording",
    rank,
    world_size: rank === null ? null : 2,
    host: "node-07",
    pid: 4117 + (rank ?? 0),
    framework: "pytorch",
    live,
  });
  const now = String(BigInt(Date.now()) * 1_000_000n);
  const old = String(BigInt(began - 3_600_000) * 1_000_000n);
  const list = [
    {
      id: "live",
      name: "resnet50-live",
      live: true,
      updated_ns: now,
      error: null,
      workers: [worker("0-node-07-4117", 0, true), worker("1-node-07-4118", 1, true)],
    },
    { id: "trace", name: "a100-trace", live: false, updated_ns: old, error: null, workers: [worker("rank0", 0)] },
    { id: "keras", name: "keras-small", live: false, updated_ns: old, error: null, workers: [worker("keras", null)] },
    { id: "importing", name: "importing-now", live: false, updated_ns: old, error: null, workers: [worker("w", null)] },
    {
      id: "failing",
      name: "broken",
      live: false,
      updated_ns: old,
      error: "1 of 2 files could not be read: b.json is cut.",
      workers: [worker("w", null)],
    },
    { id: "none", name: "no-workers", live: false, updated_ns: old, error: null, workers: [] },
    { id: HOSTILE, name: HOSTILE, live: false, updated_ns: old, error: null, workers: [worker(HOSTILE, null)] },
  ];
  for (let i = 0; i < 60; i += 1)
    list.push({ ...list[2], id: `sweep/${i}`, name: `sweep/lr-${(i / 1000).toFixed(3)}/seed-${i % 4}` });
  return list;
}

function workerOf(run) {
  if (run === "live") return { worker: workers.live, until: 8e9 + (Date.now() - began) * MS };
  if (run === "trace") return { worker: workers.trace, until: Infinity };
  if (run === "none") return null;
  return runs().some((r) => r.id === run) ? { worker: workers.keras, until: Infinity } : null;
}
const MS = 1e6;

function arrow(columns) {
  const types = {
    lane: int32(),
    depth: int16(),
    start: float64(),
    dur: float64(),
    count: int32(),
    busy: float64(),
    name: dictionary(utf8(), key32()),
    kind: uint8(),
    row: int32(),
  };
  return tableToIPC(tableFromArrays(columns, { types }), { format: "stream" });
}

function pageOfSteps({ worker, until }, offset, limit) {
  const { table } = worker;
  const count = table.start.filter((start, i) => start + table.duration[i] <= until).length;
  const cut = (values) => values.slice(offset, Math.min(offset + limit, count));
  const columns = (group) => Object.fromEntries(Object.entries(group).map(([name, values]) => [name, cut(values)]));
  const { id, label, start, host, duration, complete, inferred } = table;
  return {
    origin_ns: String(model.ORIGIN),
    count,
    offset,
    id: cut(id),
    label: cut(label),
    start: cut(start),
    host: cut(host),
    duration: cut(duration),
    complete: cut(complete),
    inferred: cut(inferred),
    activity: columns(table.activity),
    phase: columns(table.phase),
  };
}

/** Every n-th step, and the ends of the deep window. */
function overview({ worker, until }, points) {
  const { table } = worker;
  const count = table.start.filter((start, i) => start + table.duration[i] <= until).length;
  const deep = table.activity.kernel.slice(0, count).flatMap((ns, i) => (ns === null ? [] : [i]));
  const ends = deep.length > 0 ? [deep[0], deep.at(-1)] : [];
  const stride = Math.max(1, Math.ceil(count / points));
  const index = [...Array(count).keys()].filter((i) => i % stride === 0 || i === count - 1 || ends.includes(i));
  const cut = (values) => index.map((i) => values[i]);
  const { id, label, start, host, duration, complete, inferred } = table;
  return {
    origin_ns: String(model.ORIGIN),
    count,
    incomplete: cut(complete).filter((done) => !done).length,
    deep: ends.length > 0 ? [ends] : [],
    index,
    id: cut(id),
    label: cut(label),
    start: cut(start),
    host: cut(host),
    duration: cut(duration),
    complete: cut(complete),
    inferred: cut(inferred),
  };
}

function route(name, query, empty) {
  if (name === "runs") return { logdir: "/data/runs", runs: empty ? [] : runs() };
  const run = query.get("run");
  const number = (key, otherwise) => (query.has(key) ? Number(query.get(key)) : otherwise);
  if (run === "importing") return { status: 202, state: "importing", detail: "Importing trace.json.gz (412.0 MB)." };
  if (run === "failing")
    return { status: 500, error: "/data/runs/broken/a.json: no trace events; export it again from the profiler." };
  const at = workerOf(run);
  if (!at) return { status: 404, error: `There is no run ${run} in /data/runs.` };
  const { worker, until } = at;
  if (name === "summary") {
    return {
      origin_ns: String(model.ORIGIN),
      run,
      live: run === "live",
      updated_ns: null,
      ...model.summary(worker, until),
    };
  }
  if (name === "steps") return pageOfSteps(at, number("offset", 0), number("limit", 2000));
  if (name === "steps/overview") return overview(at, number("points", 1500));
  if (name === "resources") return model.resources(worker, until, number("t0"), number("t1"), number("points", 600));
  if (name === "timeline/tree") return model.tree(worker, until);
  if (name === "timeline/view") {
    const lanes = query.get("lanes").split(",").map(Number);
    return { arrow: arrow(model.view(worker, until, number("t0"), number("t1"), number("px"), lanes)) };
  }
  if (name === "timeline/slice")
    return model.slice(worker, number("row")) ?? { status: 404, error: "There is no such slice." };
  if (name === "timeline/find") {
    const rows = worker.slices
      .filter((s) => s.name === query.get("name") && s.start + s.dur <= until)
      .map((s) => s.row);
    return { count: rows.length, rows: rows.slice(0, 10_000) };
  }
  return { status: 404, error: `There is no route ${name}.` };
}

const OUTER = `<!doctype html><meta charset="utf-8"><title>TensorBoard (dev)</title>
<style>html,body{margin:0;height:100%}body{display:flex;flex-direction:column;background:#fff}body.dark-mode{background:#303030}
header{display:flex;align-items:center;gap:20px;height:64px;padding:0 24px;background:#f57c00;color:#fff;font:20px sans-serif}
iframe{flex:1;border:0;width:100%}</style>
<header>TensorBoard <button id="dark">dark</button></header><iframe src="BASEdata/plugin_entry.html"></iframe>
<script src="BASEouter.js"></script>`;
const OUTER_JS = `document.getElementById("dark").onclick = () => document.body.classList.toggle("dark-mode");
if (location.search.includes("dark")) document.body.classList.add("dark-mode");`;
const ENTRY = `<!doctype html><meta charset="utf-8"><body><script type="module" src="entry.js"></script></body>`;
const ENTRY_JS = `import("./plugin/stepscope/index.js").then((m) => m.render());`;

createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  const send = (status, type, body) => {
    response.writeHead(status, {
      "Content-Type": type,
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": CSP,
    });
    response.end(body);
  };
  try {
    const empty = url.pathname.startsWith("/empty/");
    const path = url.pathname.replace(/^\/empty/, "");
    const base = empty ? "/empty/" : "/";
    if (path === "/")
      return send(
        200,
        "text/html",
        url.search.startsWith("?empty") ? OUTER.replaceAll("BASE", "/empty/") : OUTER.replaceAll("BASE", base),
      );
    if (path === "/outer.js") return send(200, TYPES.js, OUTER_JS);
    if (path === "/data/plugin_entry.html") return send(200, "text/html", ENTRY);
    if (path === "/data/entry.js") return send(200, TYPES.js, ENTRY_JS);
    const name = path.replace(/^\/data\/plugin\/stepscope\//, "");
    if (name === path) return send(404, "text/plain", "not found");
    const file = name.match(/^index\.(js|css)$/);
    if (file) return send(200, TYPES[file[1]], await readFile(new URL(name, STATIC)));
    const answer = route(name, url.searchParams, empty);
    if (answer.arrow) return send(200, "application/vnd.apache.arrow.stream", answer.arrow);
    const { status = 200, ...body } = answer;
    return send(status, "application/json", JSON.stringify(body));
  } catch (error) {
    return send(500, "application/json", JSON.stringify({ error: String(error) }));
  }
}).listen(port, "127.0.0.1", () => console.log(`http://localhost:${port}/`));
