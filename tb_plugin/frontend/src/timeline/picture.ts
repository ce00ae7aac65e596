// The timeline as a picture: the canvas once more, with the names of the lanes beside it.

import { plural } from "../format";
import { theme } from "../state";
import { drawScene } from "./draw";
import { ink } from "./ink";
import type { TimelineModel } from "./model";
import { laneTop, TOP } from "./scene";
import { sceneOf } from "./scene-of";
import { fit, FONT, isolated, textWidth } from "./text";
import { visibleRows } from "./tree";

const NAMES = 240; // pixels

export function picture(model: TimelineModel): HTMLCanvasElement {
  const scene = sceneOf(model, theme.peek());
  const canvas = document.createElement("canvas");
  const ratio = Math.max(2, window.devicePixelRatio || 1); // for print
  canvas.width = Math.round((scene.width + NAMES) * ratio);
  canvas.height = Math.round(scene.height * ratio);
  const ctx = canvas.getContext("2d");
  if (!ctx) throw new Error("The browser gave no canvas to draw on.");
  const colors = ink(scene.theme);
  ctx.setTransform(ratio, 0, 0, ratio, NAMES * ratio, 0);
  drawScene(ctx, { ...scene, hover: null, pointerX: null });
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = colors.header;
  ctx.fillRect(0, 0, NAMES, scene.height);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  for (const band of scene.bands) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, band.top, NAMES, band.bottom - band.top);
    ctx.clip();
    for (const row of visibleRows(band.layout, band.scroll, band.scroll + band.bottom - band.top)) {
      const x = 8 + row.node.level * 10;
      ctx.fillStyle = colors.text;
      const text = fit(row.node.info.name, NAMES - x - 6, (part) => textWidth(ctx, part));
      ctx.fillText(isolated(text), x, Math.max(laneTop(band, row), band.top) + 12);
      const cut = row.kind === "slices" && !row.folded ? row.node.info.rows - row.rows : 0;
      if (cut > 0 && row.rows > 1) {
        ctx.fillStyle = colors.faint;
        const above = row.first > 0 ? `, ${row.first} of them above` : "";
        ctx.fillText(plural(cut, "more row") + above, x, laneTop(band, row) + row.height - 10);
      }
      ctx.fillStyle = colors.line;
      ctx.fillRect(0, laneTop(band, row) + row.height - 1, NAMES, 1);
    }
    ctx.restore();
  }
  ctx.fillStyle = colors.line;
  ctx.fillRect(NAMES - 1, 0, 1, scene.height);
  ctx.fillRect(0, TOP - 1, NAMES, 1);
  return canvas;
}
