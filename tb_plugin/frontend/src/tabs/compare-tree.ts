// One level of the tree of modules as rows like those of the other tables; with the module itself they sum to it.

import type { ComparedWork, JoinedRow, ModuleNode } from "./compare-requests";

const SEPARATOR = " / ";

export interface Step {
  name: string;
  path: string; // in the address
}

/** What a path leads to, as far as this tree has it: the way there, and its parts, the largest difference first. */
export function levelOf(
  nodes: readonly ModuleNode[],
  path: string,
  basis: ComparedWork["basis"],
): { way: Step[]; level: ComparedWork } {
  const paths: string[] = [];
  for (const { parent, name } of nodes) paths.push(parent ? `${paths[parent]}${SEPARATOR}${name}` : name);
  const parents = new Set(nodes.map((node) => node.parent));
  const way: Step[] = [];
  for (let at: number | null = placeOf(paths, parents, path); at; at = nodes[at].parent) {
    way.unshift({ name: nodes[at].name, path: paths[at] });
  }
  const at = way.length > 0 ? paths.indexOf(way[way.length - 1].path) : 0;
  const parts = nodes.flatMap((node, i) =>
    node.parent === at ? [partOf(node, parents.has(i) ? paths[i] : null)] : [],
  );
  const rows = [...parts, ...itself(nodes[at], at === 0)].sort(
    (a, b) => Math.abs(b.difference_ns) - Math.abs(a.difference_ns),
  );
  let sum = 0;
  for (const row of rows) row.accumulated_ns = sum += row.difference_ns;
  const { a_ns, b_ns, difference_ns } = nodes[at];
  const only = (status: JoinedRow["status"]) => parts.filter((row) => row.status === status).length;
  const counts = { count: parts.length, added: only("added"), removed: only("removed") };
  return { way, level: { why: null, basis, ...counts, a_ns, b_ns, difference_ns, rows, rest: null } };
}

/** The longest beginning of the path that has parts; 0, the root, where there is none. */
function placeOf(paths: readonly string[], parents: ReadonlySet<number | null>, path: string): number {
  for (let text = path; text; text = text.slice(0, Math.max(0, text.lastIndexOf(SEPARATOR)))) {
    const at = paths.indexOf(text);
    if (at > 0 && parents.has(at)) return at;
  }
  return 0;
}

function partOf(node: ModuleNode, opens: string | null): JoinedRow {
  const { name, status, a_ns, b_ns, difference_ns, a_count, b_count, self_difference_ns: self } = node;
  return { name, status, a_ns, b_ns, difference_ns, a_count, b_count, accumulated_ns: 0, level: { opens, self } };
}

function itself(node: ModuleNode, isRoot: boolean): JoinedRow[] {
  const { a_self_ns: a, b_self_ns: b, self_difference_ns: self } = node;
  if (a === 0 && b === 0) return [];
  return [
    {
      name: isRoot ? "(no module)" : "(itself)",
      status: a === 0 ? "added" : b === 0 ? "removed" : "both",
      a_ns: a,
      b_ns: b,
      difference_ns: self,
      accumulated_ns: 0,
      a_count: null,
      b_count: null,
      level: { opens: null, self },
    },
  ];
}
