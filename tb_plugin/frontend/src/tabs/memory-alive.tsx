// What was alive at one moment of an allocator, by who allocated it; the parts add up to the curve.

import type { JSX } from "preact";
import { DEFINITIONS } from "../definitions";
import { bytes, count, duration, percent } from "../format";
import { getAlive, type AliveAnswer, type By, type Share } from "../time/memory";
import type { TimeView } from "../time/view";
import { Card, type CardData } from "../ui/card";
import { useFetched } from "../ui/fetched";
import { Meter } from "../ui/meter";
import { Absent, Await } from "../ui/states";
import { Toggle } from "../ui/toggle";
import { patchMemory } from "./memory-tab";

export const NO_NAME: Record<By, string> = {
  operator: "no operator, and all further ones",
  module: "outside of modules, and all further ones",
  size: "all further sizes",
};

export function shareName(share: Share, by: By): string {
  if (share.name === null) return NO_NAME[by];
  if (Array.isArray(share.name)) return share.name.join(" / ");
  return typeof share.name === "number" ? `${bytes(share.name)} each` : share.name;
}

export function ByToggle({ view }: { view: TimeView }): JSX.Element {
  return (
    <Toggle
      label="List by"
      value={view.by}
      choices={[
        { value: "operator", label: "Operator" },
        { value: "module", label: "Module" },
        { value: "size", label: "Size" },
      ]}
      onChoose={(by) => patchMemory({ by: by as By })}
    />
  );
}

export function AliveCard(props: {
  of: number;
  at: number;
  isPeak: boolean; // no moment was chosen
  view: TimeView;
}): JSX.Element {
  const { of, at, view } = props;
  const found = useFetched(`alive ${of} ${at} ${view.by}`, (key, signal) => getAlive(key, of, at, view.by, signal));
  const alive = found.value?.alive;
  const t = found.value?.t ?? Math.round(at); // what is listed
  return (
    <Card
      title={`Alive at ${duration(t)}${props.isPeak && t === Math.round(at) ? ", the peak" : ""}`}
      definition={DEFINITIONS.alive}
      basis="Click the curve to choose another moment."
      actions={<ByToggle view={view} />}
      data={alive && found.value ? () => aliveData(found.value as AliveAnswer) : undefined}
      isTable
      testId="alive"
    >
      <Await of={found} what="what was alive">
        {(answer) => (answer.alive ? <AliveTable answer={answer} /> : <Absent>{WHY[answer.why ?? ""]}</Absent>)}
      </Await>
    </Card>
  );
}

const WHY: Record<string, string> = {
  between_windows: "Between two deep windows nothing is recorded.",
  no_addresses:
    "The records tell no addresses, so that frees cannot be matched with allocations: the curve holds, the list does not exist.",
};

interface Row {
  name: string;
  title?: string;
  count: number | null;
  bytes: number;
  faint: boolean;
}

function rowsOf({ alive, by }: AliveAnswer): Row[] {
  if (!alive) return [];
  const rows: Row[] = alive.rows.map((share) => ({
    name: shareName(share, by),
    count: share.count,
    bytes: share.bytes,
    faint: share.name === null,
  }));
  if (alive.earlier_bytes !== 0) {
    rows.push({
      name: alive.earlier_bytes > 0 ? "not recorded: from before the window" : "freed without a record",
      title: DEFINITIONS.aliveEarlier,
      count: null,
      bytes: alive.earlier_bytes,
      faint: true,
    });
  }
  return rows.sort((a, b) => b.bytes - a.bytes);
}

function AliveTable({ answer }: { answer: AliveAnswer }): JSX.Element {
  const { alive, by } = answer;
  if (!alive) return <></>;
  return (
    <>
      {by === "module" && !answer.has_modules && (
        <p class="basis">
          The capture tells no modules: <code>with_stack=True</code> records them.
        </p>
      )}
      <SharesTable
        by={by}
        rows={rowsOf(answer)}
        total={{ name: "Allocated in all", count: alive.count, bytes: alive.level_bytes }}
        testId="alive"
      />
      {alive.reserved_bytes !== null && (
        <p class="basis">
          {bytes(alive.reserved_bytes)} reserved, {bytes(alive.reserved_bytes - alive.level_bytes)} of it unused.
        </p>
      )}
    </>
  );
}

export function SharesTable(props: {
  by: By;
  rows: readonly Row[];
  total: { name: string; count: number; bytes: number };
  testId: string;
}): JSX.Element {
  const { rows, total, by, testId } = props;
  return (
    <div class="rank-scroll long" tabIndex={0} role="region" aria-label={total.name}>
      <table class="plain spaced">
        <thead>
          <tr>
            <th scope="col">{{ operator: "Operator", module: "Module", size: "Size" }[by]}</th>
            <th scope="col" class="num" title="Allocations">
              Count
            </th>
            <th scope="col" class="num">
              Bytes
            </th>
            <th scope="col" class="num" title="Divided by the sum in the last line.">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i} data-testid={`${testId}-row`} data-value={row.bytes}>
              <th scope="row" class={`clip${row.faint ? " faint" : ""}`} title={row.title ?? row.name}>
                <bdi>{row.name}</bdi>
              </th>
              <td class="num">{row.count === null ? "—" : count(row.count)}</td>
              <td class="num" title={`${count(row.bytes)} bytes`}>
                {bytes(row.bytes)}
              </td>
              <td class="num">
                {row.bytes >= 0 ? <Meter ratio={total.bytes > 0 ? row.bytes / total.bytes : null} /> : percent(null)}
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr data-testid={`${testId}-total`} data-value={total.bytes}>
            <th scope="row">{total.name}</th>
            <td class="num">{count(total.count)}</td>
            <td class="num" title={`${count(total.bytes)} bytes`}>
              <b>{bytes(total.bytes)}</b>
            </td>
            <td />
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

export const sharesData = (rows: readonly Row[], by: By): CardData => ({
  columns: [
    { label: { operator: "Operator", module: "Module", size: "Size" }[by], unit: "text" },
    { label: "Count", unit: "count" },
    { label: "Bytes", unit: "bytes" },
  ],
  rows: rows.map((row) => [row.name, row.count, row.bytes]),
});

const aliveData = (answer: AliveAnswer) => sharesData(rowsOf(answer), answer.by);

/** Shares as rows. */
export const shareRows = (shares: readonly Share[], by: By): Row[] =>
  shares.map((share) => ({
    name: shareName(share, by),
    count: share.count,
    bytes: share.bytes,
    faint: share.name === null,
  }));
