// A part of the page as a picture: its elements drawn once more inside an SVG, with the styles of the page.

const MARGIN = 12; // pixels around it

/** Canvases become images, since a copy of a canvas is empty; what belongs to no picture has `no-picture`. */
function copyOf(element: HTMLElement): HTMLElement {
  const copy = element.cloneNode(true) as HTMLElement;
  const canvases = element.querySelectorAll("canvas");
  copy.querySelectorAll("canvas").forEach((canvas, i) => {
    const image = document.createElement("img");
    image.src = canvases[i].toDataURL();
    image.style.cssText = canvas.style.cssText;
    image.style.width = `${canvases[i].clientWidth}px`;
    image.style.height = `${canvases[i].clientHeight}px`;
    const box = canvas.parentElement;
    // Heights in shares of the window would be of the picture's.
    if (box && box !== copy) box.style.height = `${canvases[i].parentElement?.offsetHeight}px`;
    canvas.replaceWith(image);
  });
  copy.querySelectorAll(".no-picture").forEach((part) => part.remove());
  return copy;
}

function styles(): string {
  return [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join("\n");
}

/** What is left of the element without what belongs to no picture may be lower than the element. */
function heightOf(copy: HTMLElement, element: HTMLElement, width: number): number {
  const style = copy.style.cssText;
  copy.style.cssText += `;position:absolute;visibility:hidden;height:auto;width:${width}px`;
  element.after(copy);
  const { height } = copy.getBoundingClientRect();
  copy.remove();
  copy.style.cssText = style;
  return height;
}

/** An element of the page as a canvas, twice as fine as the screen at least. */
export async function pictureOf(element: HTMLElement): Promise<HTMLCanvasElement> {
  const copy = copyOf(element);
  const { width } = element.getBoundingClientRect();
  const height = heightOf(copy, element, width);
  const size = { w: Math.ceil(width) + 2 * MARGIN, h: Math.ceil(height) + 2 * MARGIN };
  const body = document.createElementNS("http://www.w3.org/1999/xhtml", "div") as HTMLElement;
  const computed = getComputedStyle(document.body);
  body.style.cssText = `width:${size.w}px;height:${size.h}px;padding:${MARGIN}px;font-family:${computed.fontFamily};font-size:${computed.fontSize};line-height:${computed.lineHeight};color:${computed.color};background:${computed.backgroundColor};font-variant-numeric:tabular-nums`;
  const sheet = body.appendChild(document.createElement("style"));
  sheet.textContent = styles();
  body.appendChild(copy).style.width = `${Math.ceil(width)}px`;
  // The theme is an attribute of the root, which the SVG is here.
  const theme = document.documentElement.dataset.theme ?? "light";
  // Names may hold characters that the page shows and no XML may hold, not even escaped.
  const markup = new XMLSerializer()
    .serializeToString(body)
    .replace(/[\p{Cs}\0-\x08\v\f\x0e-\x1f\ufffe\uffff]/gu, "\ufffd");
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${size.w}" height="${size.h}" data-theme="${theme}"><foreignObject width="100%" height="100%">${markup}</foreignObject></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const ratio = Math.max(2, window.devicePixelRatio || 1); // for print
  const canvas = document.createElement("canvas");
  canvas.width = size.w * ratio;
  canvas.height = size.h * ratio;
  const ctx = canvas.getContext("2d");
  if (!ctx) throw new Error("The browser gave no canvas to draw on.");
  ctx.scale(ratio, ratio);
  ctx.drawImage(image, 0, 0);
  return canvas;
}
