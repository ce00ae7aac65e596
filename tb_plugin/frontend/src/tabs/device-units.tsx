// The units of each device: what each achieved, against the most that it can do.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DeviceUnit, WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { count, DASH, digits, percent, plural } from "../format";
import { exactText, shownText } from "../table/cells";
import type { Unit } from "../table/requests";
import { Card, type CardData } from "../ui/card";
import { Meter } from "../ui/meter";
import { PlainTable } from "../ui/plain-table";
import { Toggle } from "../ui/toggle";

/** The mark before a value that is not simply the sum of recorded times and sizes, and what it says. */
const MARKS: Partial<Record<string, [string, string]>> = {
  estimated: ["≈", "estimated from launch configurations, names of kernels or shapes"],
  counter: ["#", "told by hardware counters"],
};
/** Quantities that the tables know. */
const UNITS: Partial<Record<string, Unit>> = {
  ns: "ns",
  ratio: "ratio",
  bytes: "bytes",
  bytes_per_s: "bytes_per_s",
  flop: "flop",
  flop_per_s: "flop_per_s",
};
const PARTS: Partial<Record<string, [string, string]>> = {
  multiprocessors: ["SMs", "CUs"],
  warps: ["warps", "wavefronts"],
  cycles: ["cycles", "cycles"],
  instructions: ["instructions", "instructions"],
  percent: ["%", "%"],
};
const MOST_BUTTONS = 8;

/** Columns in which any row has something. */
interface Shown {
  use: boolean;
  busy: boolean;
}

/** A large count in three digits: "1.90 G". */
export function scaled(value: number): string {
  const steps = ["", " k", " M", " G", " T", " P"];
  let at = 0;
  for (; Math.abs(value) >= 999.5 && at < steps.length - 1; at++) value /= 1000;
  return at === 0 && Number.isInteger(value) ? String(value) : `${digits(value)}${steps[at]}`;
}

/** A value in the quantity of its row. */
export function amount(value: number, quantity: string, amd: boolean): string {
  const unit = UNITS[quantity];
  if (unit) return shownText(value, unit);
  const word = PARTS[quantity]?.[amd ? 1 : 0] ?? quantity;
  return `${quantity === "cycles" || quantity === "instructions" ? scaled(value) : digits(value)} ${word}`;
}

const exactly = (value: number, { quantity }: DeviceUnit) =>
  UNITS[quantity] ? exactText(value, UNITS[quantity]) : `${value.toLocaleString("en-US")} ${quantity}`;

/** Nothing where no device ran anything and no counter tells of one. */
export function DeviceUnits({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const all = worker.device_units ?? [];
  const devices = [...new Set(all.map((unit) => unit.device))];
  const [chosen, choose] = useState(0);
  if (all.length === 0) return null;
  const device = devices[Math.min(chosen, devices.length - 1)];
  const units = all.filter((unit) => unit.device === device);
  const measured = units.filter((unit) => unit.achieved !== null);
  const absent = units.filter((unit) => unit.achieved === null);
  const marks = Object.entries(MARKS).flatMap(([how, mark]) =>
    mark && measured.some((unit) => unit.measured === how) ? [mark] : [],
  );
  const shows: Shown = {
    use: measured.some((unit) => unit.utilization !== null),
    busy: measured.some((unit) => unit.busy !== null),
  };
  const kind = (worker.gpu ?? []).some((gpu) => gpu.device === device) ? "GPU" : "device";
  const amd = units.some((unit) => unit.label === "Compute units");
  const total = worker.device_unit_count ?? all.length;
  return (
    <Card
      title={devices.length === 1 ? `Units of ${kind} ${device}` : "Units of the devices"}
      definition={DEFINITIONS.deviceUnits}
      basis={total > all.length && `The first ${count(all.length)} of ${count(total)} rows`}
      data={() => unitsData(all)}
      isTable
      testId="units-card"
      actions={devices.length > 1 && <Devices devices={devices} chosen={chosen} onChoose={choose} />}
    >
      {measured.length > 0 && (
        <PlainTable
          headings={[
            { label: "Unit" },
            { label: "Achieved", title: DEFINITIONS.unitAchieved },
            { label: "Peak", title: DEFINITIONS.unitPeak },
            ...(shows.use ? [{ label: "Use", title: DEFINITIONS.unitUse, isText: true }] : []),
            ...(shows.busy ? [{ label: "At work", title: DEFINITIONS.unitBusy }] : []),
          ]}
          kind="spaced units"
          testId="device-units"
        >
          {measured.map((unit, i) => (
            <Row key={i} unit={unit} amd={amd} shows={shows} />
          ))}
        </PlainTable>
      )}
      {marks.length > 0 && <p class="chart-note">{marks.map(([sign, words]) => `${sign} ${words}`).join("; ")}</p>}
      {absent.length > 0 && (
        <p class="chart-note" data-testid="units-absent">
          Not measured:{" "}
          {absent.map((unit, i) => (
            <span key={i} title={unit.why ?? undefined} data-unit={unit.unit}>
              {i > 0 && "; "}
              {unit.label}
            </span>
          ))}
        </p>
      )}
    </Card>
  );
}

function Row({ unit, amd, shows }: { unit: DeviceUnit; amd: boolean; shows: Shown }): JSX.Element {
  const { achieved, peak, utilization, quantity } = unit;
  const mark = MARKS[unit.measured ?? ""];
  return (
    <tr data-unit={unit.unit} title={`Of: ${unit.basis}.`}>
      <th scope="row">{unit.label}</th>
      <td class="num" data-value={achieved} title={`${exactly(achieved!, unit)}: ${unit.basis}`}>
        {mark && <span class="faint">{mark[0]} </span>}
        {amount(achieved!, quantity, amd)}
      </td>
      <td class="num" data-value={peak ?? undefined} title={peak === null ? (unit.why ?? "") : exactly(peak, unit)}>
        {peak === null ? <span class="faint">not known</span> : amount(peak, quantity, amd)}
      </td>
      {shows.use && (
        <td class="use" data-value={utilization ?? undefined}>
          {utilization === null ? (
            <span class="faint" title={unit.why ?? undefined}>
              {DASH}
            </span>
          ) : (
            <Meter ratio={utilization} />
          )}
        </td>
      )}
      {shows.busy && (
        <td class="num" data-value={unit.busy ?? undefined}>
          {unit.busy === null ? "" : percent(unit.busy)}
        </td>
      )}
    </tr>
  );
}

function Devices(props: { devices: number[]; chosen: number; onChoose: (at: number) => void }): JSX.Element {
  const { devices, chosen, onChoose } = props;
  if (devices.length <= MOST_BUTTONS)
    return (
      <Toggle
        label="Device"
        value={String(chosen)}
        choices={devices.map((device, i) => ({ value: String(i), label: String(device), title: `Device ${device}` }))}
        onChoose={(value) => onChoose(Number(value))}
      />
    );
  return (
    <label class="field">
      <span class="faint">{plural(devices.length, "device")}</span>
      <select value={String(chosen)} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {devices.map((device, i) => (
          <option key={device} value={String(i)}>
            {device}
          </option>
        ))}
      </select>
    </label>
  );
}

function unitsData(units: readonly DeviceUnit[]): CardData {
  return {
    columns: [
      { label: "Device", unit: "id" },
      { label: "Unit", unit: "text" },
      { label: "Achieved", unit: "number", title: DEFINITIONS.unitAchieved },
      { label: "Peak", unit: "number", title: DEFINITIONS.unitPeak },
      { label: "In", unit: "text" },
      { label: "Use", unit: "ratio", title: DEFINITIONS.unitUse },
      { label: "At work", unit: "ratio", title: DEFINITIONS.unitBusy },
      { label: "How", unit: "text" },
      { label: "Of", unit: "text" },
      { label: "Why not", unit: "text" },
    ],
    rows: units.map((unit) => [
      unit.device,
      unit.label,
      unit.achieved,
      unit.peak,
      unit.quantity,
      unit.utilization,
      unit.busy,
      unit.measured,
      unit.basis,
      unit.why,
    ]),
  };
}
