// The drawn part of a graph for other programs: as DOT (Graphviz), and as an SVG file.

import type { GraphAnswer } from "./requests";

const quoted = (text: string) =>
  `"${text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replace(/[\r\n]+/g, " ")}"`;

export function dotOf({ op, nodes, edges }: GraphAnswer): string {
  const lines = ["digraph hlo {", "  node [shape=box, fontname=sans];"];
  const node = ({ op: name, opcode, shape }: GraphAnswer["nodes"][number]) => {
    const label = quoted(`${name}\u0000${opcode} ${shape}`).replace("\u0000", "\\n");
    return `${quoted(name)} [label=${label}${name === op ? ", penwidth=2" : ""}];`;
  };
  const groups = new Set(nodes.map((one) => one.within).filter((within) => within !== null));
  for (const one of nodes) if (one.within === null) lines.push(`  ${node(one)}`);
  [...groups].forEach((group, i) => {
    lines.push(`  subgraph cluster_${i} {`, `    label=${quoted(group)};`);
    for (const one of nodes) if (one.within === group) lines.push(`    ${node(one)}`);
    lines.push("  }");
  });
  for (const [from, to] of edges) lines.push(`  ${quoted(from)} -> ${quoted(to)};`);
  return `${lines.join("\n")}\n}\n`;
}

/** A drawing of ours stands alone: it is made of attributes, not of styles of the page. */
export function svgOf(element: SVGSVGElement, background: string): string {
  const copy = element.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("style", `background:${background}`);
  copy.setAttribute("font-family", "sans-serif");
  for (const part of copy.querySelectorAll("[tabindex]")) part.removeAttribute("tabindex");
  const [, , width, height] = (copy.getAttribute("viewBox") ?? "0 0 100 100").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return new XMLSerializer().serializeToString(copy);
}
