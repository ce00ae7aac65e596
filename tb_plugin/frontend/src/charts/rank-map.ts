// Draws a measure of ranks (down) and steps (across) as a map of colours.

import { mix } from "../color";
import { CANVAS, SERIES_COLORS, type Theme } from "../palette";
import { CHART_COLORS, CHART_FONT } from "./echarts";

export const LABELS = 64; // pixels on the left
export const AXIS = 22; // pixels below
export const TOP = 6; // pixels above: half a label
const SHADES = 32;
const MOST_ROW = 18;
const LEAST_LABEL = 12; // pixels between two labels
const LEAST_FAR = 0.1; // of the median: smaller differences look small, as they are

export type Scale = "absolute" | "share"; // the time itself, or against the median worker in the same steps

export interface Shading {
  scale: Scale;
  low: number;
  high: number;
}

/** Pixels of a row: as high as reads well, at least one, so that hundreds of ranks fit. */
export const rowHeight = (ranks: number, room: number) => Math.max(1, Math.min(MOST_ROW, Math.floor(room / ranks)));

/** The value that a cell is coloured by. */
export function cellValue(cell: number | null, median: number | null, scale: Scale): number | null {
  if (cell === null || scale === "absolute") return cell;
  return median === null || median === 0 ? null : cell / median - 1;
}

/** The median of each column: unlike the mean, one slow worker does not move it. */
export function medians(cells: readonly (readonly (number | null)[])[], columns: number): (number | null)[] {
  return Array.from({ length: columns }, (_, c) => {
    const known = cells.map((row) => row[c]).filter((value): value is number => value !== null);
    known.sort((a, b) => a - b);
    return known.length === 0 ? null : known[(known.length - 1) >> 1];
  });
}

/** What the ends of the colours stand for: all but the outermost hundredth, so that one outlier hides nothing. */
export function shadingOf(
  cells: readonly (readonly (number | null)[])[],
  median: readonly (number | null)[],
  scale: Scale,
): Shading {
  const values: number[] = [];
  for (const row of cells)
    row.forEach((cell, i) => {
      const value = cellValue(cell, median[i], scale);
      if (value !== null) values.push(value);
    });
  values.sort((a, b) => a - b);
  const at = (share: number) => values[Math.round(share * (values.length - 1))] ?? 0;
  if (scale === "absolute") return { scale, low: at(0.01), high: at(0.99) };
  const far = Math.max(Math.abs(at(0.01)), Math.abs(at(0.99)), LEAST_FAR);
  return { scale, low: -far, high: far };
}

/** The colours of a scale from its low to its high end. */
export function shades(theme: Theme, scale: Scale): string[] {
  const [cool, , warm] = SERIES_COLORS[theme];
  const empty = theme === "light" ? "#eef2f6" : "#20242b";
  return Array.from({ length: SHADES }, (_, i) => {
    const share = i / (SHADES - 1);
    if (scale === "absolute") return mix(empty, warm, share);
    return share < 0.5 ? mix(cool, empty, share * 2) : mix(empty, warm, share * 2 - 1);
  });
}

export function shadeIndex(value: number, shading: Shading): number {
  const share = shading.high > shading.low ? (value - shading.low) / (shading.high - shading.low) : 0.5;
  return Math.round(Math.max(0, Math.min(1, share)) * (SHADES - 1));
}

export function drawMap(
  ctx: CanvasRenderingContext2D,
  it: {
    width: number;
    row: number; // pixels
    theme: Theme;
    cells: readonly (readonly (number | null)[])[];
    median: readonly (number | null)[];
    shading: Shading;
    names: readonly string[]; // of the ranks
    ticks: readonly string[]; // of the columns
    at: { row: number; column: number } | null;
  },
): void {
  const { width, row, theme, cells, median, shading } = it;
  const columns = median.length;
  const colors = CHART_COLORS[theme];
  const palette = shades(theme, shading.scale);
  const each = (width - LABELS) / Math.max(1, columns);
  const height = TOP + cells.length * row;
  ctx.fillStyle = CANVAS[theme];
  ctx.fillRect(0, 0, width, height + AXIS);
  const gap = row >= 6 ? 1 : 0;
  cells.forEach((own, r) => {
    for (let c = 0; c < columns; c += 1) {
      const value = cellValue(own[c], median[c], shading.scale);
      if (value === null) continue; // not measured: the background
      ctx.fillStyle = palette[shadeIndex(value, shading)];
      const left = LABELS + Math.round(c * each);
      ctx.fillRect(left, TOP + r * row, LABELS + Math.round((c + 1) * each) - left, row - gap);
    }
  });
  ctx.font = `11px ${CHART_FONT}`;
  ctx.fillStyle = colors.faint;
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  const every = Math.ceil(LEAST_LABEL / row);
  for (let r = 0; r < cells.length; r += every) ctx.fillText(it.names[r], LABELS - 8, TOP + r * row + row / 2);
  ctx.textAlign = "center";
  let free = LABELS;
  for (let c = 0; c < columns; c += Math.max(1, Math.ceil(columns / 10))) {
    const x = Math.max(LABELS + (c + 0.5) * each, free + ctx.measureText(it.ticks[c]).width / 2);
    if (x + 20 > width && c > 0) break;
    ctx.fillText(it.ticks[c], x, height + AXIS / 2 + 2);
    free = x + ctx.measureText(it.ticks[c]).width / 2 + 8;
  }
  if (it.at) {
    ctx.strokeStyle = colors.text;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(LABELS + it.at.column * each, TOP + it.at.row * row, Math.max(3, each), Math.max(3, row));
  }
}
