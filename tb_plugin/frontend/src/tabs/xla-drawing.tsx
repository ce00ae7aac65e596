// The drawing of a graph: boxes coloured by their share of the time, in an SVG of attributes that stands alone.

import type { JSX, RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { mix, textOn } from "../color";
import { percent } from "../format";
import { ACTIVITY_COLORS, CANVAS, type Theme } from "../palette";
import { theme } from "../state";
import { Icon } from "../ui/icons";
import { layered, type Drawing } from "../xla/layout";
import type { GraphAnswer, GraphNode } from "../xla/requests";
import { hiddenText, timeText } from "./xla-graph";

const BOX = { width: 196, height: 50 };
const MARGIN = 26; // room for the marks of what is not drawn, and of an opened fusion
const LEAST_SCALE = 0.15;
const LEGIBLE = 0.7;
const LINES: Record<Theme, string> = { light: "#5d6875", dark: "#98a2ae" };
const ACCENT: Record<Theme, string> = { light: "#0b57d0", dark: "#7db4ff" };

export function GraphDrawing(props: {
  answer: GraphAnswer;
  svg: RefObject<SVGSVGElement | null>;
  onChoose: (op: string) => void;
}): JSX.Element {
  const { answer, svg, onChoose } = props;
  const now = theme.value;
  const within = useMemo(() => new Map(answer.nodes.map((node) => [node.op, node.within])), [answer]);
  const drawing = useMemo(
    () =>
      layered(
        answer.nodes.map((node) => node.op),
        answer.edges.map(([from, to]) => [from, to] as const),
        BOX,
        (op) => within.get(op) ?? null,
      ),
    [answer],
  );
  const box = useRef<HTMLDivElement>(null);
  const [scale, setScale] = useState(1);
  const width = drawing.width + 2 * MARGIN;
  const height = drawing.height + 2 * MARGIN;
  const fit = () => Math.min(1, Math.max(LEAST_SCALE, ((box.current?.clientWidth ?? width) - 4) / width));
  useEffect(() => setScale(Math.max(fit(), LEGIBLE)), [drawing]);
  useEffect(() => {
    const own = box.current;
    const middle = drawing.nodes.get(answer.op);
    if (!own || !middle) return;
    own.scrollLeft = (middle.x + MARGIN) * scale - own.clientWidth / 2;
    own.scrollTop = (middle.y + MARGIN) * scale - own.clientHeight / 2;
  }, [drawing, scale]);
  const zoom = (by: number) => setScale(Math.min(2, Math.max(LEAST_SCALE, scale * by)));
  return (
    <div class="xla-drawing">
      <div class="xla-zoom no-picture">
        <button type="button" class="icon-button" aria-label="Smaller" title="Smaller" onClick={() => zoom(1 / 1.25)}>
          <Icon shape="minus" />
        </button>
        <button type="button" class="icon-button" aria-label="Larger" title="Larger" onClick={() => zoom(1.25)}>
          <Icon shape="plus" />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label="Whole width"
          title="Whole width"
          onClick={() => setScale(fit())}
        >
          <Icon shape="whole" />
        </button>
      </div>
      <div class="xla-scroll" ref={box}>
        <svg
          ref={svg}
          role="group"
          aria-label={`Graph around ${answer.op}`}
          data-testid="xla-drawing"
          viewBox={`0 0 ${width} ${height}`}
          width={width * scale}
          height={height * scale}
        >
          <g transform={`translate(${MARGIN} ${MARGIN})`}>
            <Hulls answer={answer} drawing={drawing} now={now} />
            <Arrows drawing={drawing} now={now} />
            {answer.nodes.map((node) => (
              <Box key={node.op} node={node} answer={answer} drawing={drawing} now={now} onChoose={onChoose} />
            ))}
          </g>
        </svg>
      </div>
    </div>
  );
}

/** A frame around the inside of an opened fusion, where nothing else stands in it. */
function Hulls({ answer, drawing, now }: { answer: GraphAnswer; drawing: Drawing; now: Theme }): JSX.Element {
  const groups = [...new Set(answer.nodes.map((node) => node.within))].filter((name) => name !== null);
  return (
    <>
      {groups.map((group) => {
        const inside = answer.nodes.filter((node) => node.within === group).map((node) => drawing.nodes.get(node.op)!);
        const left = Math.min(...inside.map(({ x }) => x)) - BOX.width / 2 - 8;
        const right = Math.max(...inside.map(({ x }) => x)) + BOX.width / 2 + 8;
        const top = Math.min(...inside.map(({ y }) => y)) - 18;
        const bottom = Math.max(...inside.map(({ y }) => y)) + BOX.height + 8;
        const isAlone = answer.nodes.every(({ op, within }) => {
          const at = drawing.nodes.get(op)!;
          const apart =
            at.x + BOX.width / 2 < left || at.x - BOX.width / 2 > right || at.y + BOX.height < top || at.y > bottom;
          return within === group || apart;
        });
        return isAlone ? (
          <g key={group} data-testid="xla-hull">
            <rect
              x={left}
              y={top}
              width={right - left}
              height={bottom - top}
              rx="6"
              fill={mix(CANVAS[now], LINES[now], 0.08)}
              stroke={LINES[now]}
              stroke-dasharray="4 3"
            />
            <text x={left + 6} y={top + 12} font-size="10" fill={LINES[now]}>
              {cut(group, (right - left) / 6)}
            </text>
          </g>
        ) : null;
      })}
    </>
  );
}

function Arrows({ drawing, now }: { drawing: Drawing; now: Theme }): JSX.Element {
  return (
    <g fill="none" stroke={LINES[now]}>
      {drawing.edges
        .filter((points) => points.length > 1)
        .map((points, i) => (
          <g key={i}>
            <path d={curve(points)} />
            <path d={arrowHead(points.at(-1)!)} fill={LINES[now]} stroke="none" />
          </g>
        ))}
    </g>
  );
}

function curve(points: readonly (readonly [number, number])[]): string {
  const [start, ...rest] = points;
  let at = start;
  const parts = rest.map(([x, y]) => {
    const half = (at[1] + y) / 2;
    const part = at[0] === x ? `L${x} ${y}` : `C${at[0]} ${half} ${x} ${half} ${x} ${y}`;
    at = [x, y];
    return part;
  });
  return `M${start[0]} ${start[1]}${parts.join("")}`;
}

const arrowHead = ([x, y]: readonly [number, number]) => `M${x} ${y}l-4 -7h8z`;

function Box(props: {
  node: GraphNode;
  answer: GraphAnswer;
  drawing: Drawing;
  now: Theme;
  onChoose: (op: string) => void;
}): JSX.Element {
  const { node, answer, drawing, now, onChoose } = props;
  const { x, y } = drawing.nodes.get(node.op)!;
  const share = node.time_ns === null || answer.program_ns === 0 ? null : node.time_ns / answer.program_ns;
  // The square root: of 5 % one should see something, too.
  const fill =
    share === null ? CANVAS[now] : mix(CANVAS[now], ACTIVITY_COLORS[now].memcpy, 0.1 + 0.8 * Math.sqrt(share));
  const ink = textOn(fill);
  const isMiddle = node.op === answer.op;
  const hidden = hiddenText(node);
  const about = [node.op, node.text, node.op_name, timeText(node, answer.program_ns), hidden]
    .filter(Boolean)
    .join("\n");
  const choose = () => onChoose(node.op);
  return (
    <g
      transform={`translate(${x - BOX.width / 2} ${y})`}
      role="button"
      tabindex={0}
      class="xla-box"
      aria-pressed={isMiddle}
      data-testid="xla-node"
      data-op={node.op}
      onClick={choose}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      }}
    >
      <title>{about}</title>
      <rect
        width={BOX.width}
        height={BOX.height}
        rx="5"
        fill={fill}
        stroke={isMiddle || node.within !== null ? ACCENT[now] : LINES[now]}
        stroke-width={isMiddle ? 2.5 : 1}
        stroke-dasharray={node.opcode === "parameter" ? "2 2" : undefined}
      />
      <text x="8" y="16" font-size="12" font-weight="600" fill={ink}>
        {cut(node.op, 21)}
      </text>
      <text x="8" y="30" font-size="10.5" fill={ink}>
        {cut(`${node.opcode} ${node.shape.replace(/\{[\d,]*\}/g, "")}`, 29)}
      </text>
      <text x="8" y="43" font-size="10.5" fill={ink}>
        {share === null ? cut(node.op_name, 29) : `${percent(share)} of the time`}
      </text>
      {node.hidden_operands > 0 && <Mark y={-5} text={`+${node.hidden_operands}`} now={now} />}
      {node.hidden_users > 0 && <Mark y={BOX.height + 12} text={`+${node.hidden_users}`} now={now} />}
    </g>
  );
}

function Mark({ y, text, now }: { y: number; text: string; now: Theme }): JSX.Element {
  return (
    <text x={BOX.width - 6} y={y} font-size="10" text-anchor="end" fill={LINES[now]}>
      {text}
    </text>
  );
}

/** The end of a name tells most: it stays. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor(most / 3);
  return `${text.slice(0, most - tail - 1)}…${text.slice(text.length - tail)}`;
}
