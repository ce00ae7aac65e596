// The Data tab: what was recorded and how, what is missing and why, in which files, and what every number means.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SummaryAnswer } from "../api";
import { summary } from "../data";
import { DEFINITIONS } from "../definitions";
import { bytes, calendar, clock, count, duration, exact, percent, plural } from "../format";
import { Card, saveText, type CardData } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Await } from "../ui/states";
import { openInterval } from "../ui/time-parts";
import { Formulas } from "./data-formulas";
import { getData, type DataAnswer, type Stretch } from "./data-requests";
import { beginText, reportOf, stepsText, valueText } from "./data-report";
import { NotMeasured } from "./not-measured";
import { Notes } from "./notes";

export function DataTab(): JSX.Element {
  const found = useFetched("data", getData);
  return (
    <div class="page data-page">
      <Await of={found} what="what was recorded">
        {(data) => (
          <Await of={summary.now.value} what="the summary">
            {(answer) => (
              <>
                <Copy data={data} answer={answer} />
                <Captured data={data} />
                <div class="pair">
                  <Notes worker={answer.worker} refused={answer.refused} />
                  <NotMeasured answer={answer} />
                </div>
                <div class="pair">
                  <Settings answer={answer} data={data} />
                  <Trusting answer={answer} data={data} />
                </div>
                <Files data={data} />
              </>
            )}
          </Await>
        )}
      </Await>
      <Formulas />
    </div>
  );
}

/** All of it as text for a report on a fault, without names of hosts and paths. */
function Copy({ data, answer }: { data: DataAnswer; answer: SummaryAnswer }): JSX.Element {
  const [said, say] = useState("");
  const copy = async () => {
    const text = reportOf(data, answer);
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      saveText(text, "report", "md");
      say("This page may not copy: the text was saved as a file.");
    }
  };
  return (
    <div class="toolbar wrap">
      <span class="faint">
        {data.source === "recording" ? "Recorded by stepscope" : "Imported from a trace file"}
        {data.started_ns && `, started ${calendar(Number(BigInt(data.started_ns) / 1_000_000n))}`}
        {data.ended_ns &&
          `${data.source === "recording" ? ", ended" : " on"} ${calendar(Number(BigInt(data.ended_ns) / 1_000_000n))}`}
      </span>
      <span class="spacer" />
      <span role="status" class="faint">
        {said}
      </span>
      <button
        type="button"
        class="button"
        data-testid="copy-report"
        title="What this tab shows but its formulas, as text for a bug report; without host names, paths and metadata."
        onClick={() => void copy()}
      >
        Copy as text
      </button>
    </div>
  );
}

function Captured({ data }: { data: DataAnswer }): JSX.Element {
  const { windows, window_count: all, always_on: on, monitor } = data;
  const row = (name: string, stretch: Stretch, i: number) => (
    <tr key={i} data-testid="captured-row">
      <th scope="row">{name}</th>
      <td class="num">{beginText(data, stretch.start)}</td>
      <td class="num">{duration(stretch.end - stretch.start)}</td>
      <td>{stepsText(stretch)}</td>
      <td class="num">{count(stretch.events)}</td>
      <td>
        <button
          type="button"
          class="inline-link"
          aria-label={`Open in timeline: ${name}`}
          onClick={() => openInterval(data.origin_ns, { t0: stretch.start, t1: stretch.end })}
        >
          Open in timeline
        </button>
      </td>
    </tr>
  );
  return (
    <Card
      title="What was captured"
      definition={DEFINITIONS.captured}
      basis={all > windows.length && `The latest ${count(windows.length)} of ${plural(all, "deep window")}`}
      data={() => capturedData(data)}
      isTable
      testId="captured"
    >
      <div class="rank-scroll long scroll-x" tabIndex={0} role="region" aria-label="What was captured">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th
                scope="col"
                class="num"
                title={
                  data.source === "recording"
                    ? "After the beginning of the timeline."
                    : "By the clock of the file; not known where that does not count from a date."
                }
              >
                Begin
              </th>
              <th scope="col" class="num" title="From its beginning to its end.">
                Length
              </th>
              <th scope="col" title="Whole steps in it.">
                Steps
              </th>
              <th scope="col" class="num" title="Rows recorded in it, of all kinds.">
                Events
              </th>
              <th scope="col">
                <span class="sr-only">Place</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {on ? row("Every step (always on)", on, -1) : <Without what="Every step (always on)" why={NO_STREAM} />}
            {windows.map((window, i) => row(`Deep window ${all - windows.length + i + 1}`, window, i))}
            {windows.length === 0 && (
              <Without what="Deep windows" why="none yet: the hook opens them by its schedule, or when asked" />
            )}
            {monitor ? (
              <tr data-testid="captured-row">
                <th scope="row">Resource monitor</th>
                <td class="num">{duration(monitor.start)}</td>
                <td class="num">{duration(monitor.end - monitor.start)}</td>
                <td colSpan={3}>
                  {plural(monitor.series, "series", "series")}, a sample every {duration(monitor.interval_ns)}
                </td>
              </tr>
            ) : (
              <Without what="Resource monitor" why="none ran beside this worker" />
            )}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

const NO_STREAM = "none: an imported trace holds its deep window only";

function Without({ what, why }: { what: string; why: string }): JSX.Element {
  return (
    <tr>
      <th scope="row" class="faint">
        {what}
      </th>
      <td colSpan={5} class="faint">
        {why}
      </td>
    </tr>
  );
}

function Settings({ answer, data }: { answer: SummaryAnswer; data: DataAnswer }): JSX.Element {
  const lists: [string, Record<string, unknown>, string][] = [
    ["Options", answer.options ?? {}, "An imported trace does not tell how it was recorded."],
    ["Recorded with", answer.versions ?? {}, "The trace does not tell the versions."],
    ["Shown by", data.viewer, ""],
  ];
  return (
    <Card title="Options and versions" testId="settings">
      {lists.map(([name, values, none]) => (
        <section key={name} aria-label={name}>
          <h4>{name}</h4>
          {Object.keys(values).length === 0 ? (
            <p class="absent">{none}</p>
          ) : (
            <dl class="settings">
              {Object.entries(values).map(([key, value]) => (
                <div key={key}>
                  <dt>
                    <bdi>{key}</bdi>
                  </dt>
                  <dd>
                    <bdi>{valueText(value)}</bdi>
                  </dd>
                </div>
              ))}
            </dl>
          )}
        </section>
      ))}
    </Card>
  );
}

/** What bounds the exactness of times, and what the profiler cost. */
function Trusting({ answer, data }: { answer: SummaryAnswer; data: DataAnswer }): JSX.Element {
  const { clock: anchor } = data;
  const { overhead } = answer.worker;
  const rows: [string, string, string][] = anchor
    ? [
        ["Clock read at", clock(BigInt(anchor.first_ns)), DEFINITIONS.clockAnchor],
        ["Clock error, at most", exact(anchor.error_ns), DEFINITIONS.clockError],
        [
          "Wall clock was set",
          anchor.jumps_ns.length === 0
            ? "never"
            : `${plural(anchor.jumps_ns.length, "time")}, by ${anchor.jumps_ns.slice(0, 3).map(duration).join(", ")}`,
          DEFINITIONS.clockJumps,
        ],
      ]
    : [["Clock", "that of the trace file", "An imported trace tells its own times; nothing is known of their error."]];
  if (overhead) {
    rows.push(
      ["Profiler's share of the training", percent(overhead.ratio), DEFINITIONS.overhead],
      ["Hooks, a step", duration(overhead.hook_ns_per_step), "Median self time of the hooks in a step, sampled."],
      ["Stalls for deep windows", duration(overhead.stall_ns), "The training stood still while a window was saved."],
    );
  } else {
    rows.push(["Profiler's overhead", "not told by a trace", "Known of stepscope's own recordings only."]);
  }
  return (
    <Card title="Clock and overhead" testId="clock">
      <dl class="settings">
        {rows.map(([label, value, title]) => (
          <div key={label} title={title}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Files({ data }: { data: DataAnswer }): JSX.Element {
  const { files, file_count: all } = data;
  return (
    <Card
      title="Files"
      basis={`${plural(all, "file")}, ${bytes(data.file_bytes)}${data.format === null ? "" : `, format ${data.format}`}${
        all > files.length ? `; the first ${files.length} are listed` : ""
      }`}
      data={() => ({
        columns: [
          { label: "File", unit: "text" },
          { label: "Size", unit: "bytes" },
          { label: "Written", unit: "text" },
        ],
        rows: files.map((file) => [file.name, file.bytes, clock(BigInt(file.modified_ns))]),
      })}
      isTable
      testId="files"
    >
      <div class="rank-scroll long" tabIndex={0} role="region" aria-label="Files">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">File</th>
              <th scope="col" class="num">
                Size
              </th>
              <th scope="col" class="num">
                Written
              </th>
            </tr>
          </thead>
          <tbody>
            {files.map((file) => (
              <tr key={file.name} data-testid="file-row">
                <th scope="row" class="clip" title={file.name}>
                  <bdi>{file.name}</bdi>
                </th>
                <td class="num" title={`${count(file.bytes)} bytes`}>
                  {bytes(file.bytes)}
                </td>
                <td class="num">{calendar(Number(BigInt(file.modified_ns) / 1_000_000n))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function capturedData(data: DataAnswer): CardData {
  const row = (name: string, one: Stretch) => [name, one.start, one.end - one.start, stepsText(one), one.events];
  return {
    columns: [
      { label: "What", unit: "text" },
      { label: "Begin", unit: "ns", title: "After the beginning of the timeline." },
      { label: "Length", unit: "ns" },
      { label: "Steps", unit: "text" },
      { label: "Events", unit: "count" },
    ],
    rows: [
      ...(data.always_on ? [row("Every step (always on)", data.always_on)] : []),
      ...data.windows.map((one, i) => row(`Deep window ${data.window_count - data.windows.length + i + 1}`, one)),
    ],
  };
}
