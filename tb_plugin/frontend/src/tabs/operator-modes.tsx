// Whether operators ran on the host or on a device, and whether one by one, as a graph or compiled.

import type { JSX } from "preact";
import type { WorkerSummary } from "../api";
import { DEFINITIONS } from "../definitions";
import { percent } from "../format";
import { ACTIVITY_COLORS, PHASE_COLORS } from "../palette";
import { theme } from "../state";
import { StackedBar, type Part } from "../ui/bar";
import { Card } from "../ui/card";

const MODES = [
  { key: "eager", label: "Eager", title: "Called from Python one by one.", color: "h2d" },
  { key: "graph", label: "Graph", title: "Run one by one inside of a tf.function.", color: "forward" },
  { key: "compiled", label: "Compiled", title: "Code that XLA or torch.compile made.", color: "optimizer" },
  {
    key: "unknown",
    label: "Not known",
    title: "Device work whose launch is not in the trace, or lies in no operator.",
    color: "other",
  },
] as const;

type Where = "host" | "device";

/** The bars of the card: placement where both sides ran something, and the modes of each side. */
export function modeBars(
  worker: Pick<WorkerSummary, "operator_modes" | "framework">,
): { name: string; parts: Part[] }[] {
  const times = worker.operator_modes;
  if (!times) return [];
  const ns = (where: Where, mode: string) => times[`${where}_${mode}_ns`] ?? 0;
  const total = (where: Where) => MODES.reduce((sum, { key }) => sum + ns(where, key), 0);
  const host = total("host");
  const device = total("device");
  const classes = ACTIVITY_COLORS[theme.value];
  const colors = PHASE_COLORS[theme.value];
  const bars: { name: string; parts: Part[] }[] = [];
  if (host > 0 && device > 0) {
    const share = (of: number) => of / (host + device);
    bars.push({
      name: "Placement",
      parts: [
        {
          key: "host",
          label: "Host",
          title: DEFINITIONS.operatorsHost,
          ns: host,
          ratio: share(host),
          color: classes.cpu,
        },
        {
          key: "device",
          label: "Devices",
          title: DEFINITIONS.operatorsDevice,
          ns: device,
          ratio: share(device),
          color: classes.kernel,
        },
      ],
    });
  }
  for (const where of ["host", "device"] as const) {
    const whole = where === "host" ? host : device;
    const parts = MODES.filter(({ key }) => ns(where, key) > 0).map(({ key, label, title, color }) => ({
      key: `${where}-${key}`,
      label,
      title,
      ns: ns(where, key),
      ratio: ns(where, key) / whole,
      color: colors[color],
    }));
    if (parts.length) bars.push({ name: where === "host" ? "On the host" : "On devices", parts });
  }
  // A run of one kind on one side has nothing to compare, but that nothing of TensorFlow ran eagerly is worth a line.
  return bars.length > 1 || worker.framework === "tensorflow" || bars.some(({ parts }) => parts.length > 1) ? bars : [];
}

/** Nothing where the capture has no operators, or only eager ones on one side. */
export function OperatorModes({ worker }: { worker: WorkerSummary }): JSX.Element | null {
  const bars = modeBars(worker);
  if (bars.length === 0) return null;
  const eager = bars
    .filter(({ name }) => name !== "Placement")
    .map(({ name, parts }) => {
      const ratio = parts.find(({ key }) => key.endsWith("eager"))?.ratio ?? 0;
      return `${percent(ratio)} eager ${name.toLowerCase()}`;
    });
  // "100 % eager on the host" is in the line above already.
  const divided = bars.filter(({ parts }) => parts.length > 1);
  const drawn = divided.length ? divided : bars;
  return (
    <Card
      title="How operators ran"
      definition={DEFINITIONS.operatorModes}
      basis={eager.join(", ")}
      data={() => ({
        columns: [
          { label: "Of", unit: "text" },
          { label: "Operators", unit: "text" },
          { label: "Time", unit: "ns" },
          { label: "Share", unit: "ratio", title: "Of the time of its bar" },
        ],
        rows: bars.flatMap(({ name, parts }) => parts.map((part) => [name, part.label, part.ns, part.ratio])),
      })}
      isTable
      testId="operator-modes-card"
    >
      {drawn.map(({ name, parts }) => (
        <StackedBar key={name} name={name} testId="operator-modes" perStep={0} parts={parts} />
      ))}
    </Card>
  );
}
