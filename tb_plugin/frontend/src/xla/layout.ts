// A layered drawing of a directed graph without circles: every arrow points down, few cross, nodes stand near what they
// are joined to. The usual four parts (Sugiyama): layers, stand-ins where an arrow passes a layer, order, positions.

export interface Size {
  width: number;
  height: number;
}

export interface Placed {
  x: number; // of the middle
  y: number; // of the top
}

export interface Drawing {
  width: number;
  height: number;
  nodes: Map<string, Placed>;
  /** Points of each arrow, from the bottom of its source to the top of its target. */
  edges: [number, number][][];
}

interface Item {
  id: string | null; // null: a stand-in
  layer: number;
  fold: number; // the layer that its layer is a part of
  width: number;
  up: Item[];
  down: Item[];
  x: number;
  place: number;
  group: string | null;
}

const GAP_X = 14;
const GAP_Y = 42;
const SWEEPS = 8;
const MOST_IN_LAYER = 6; // more, as of an instruction with dozens of operands, would be wider than the page

/** Groups, where they are told, stay side by side in their layers. Arrows that would close a circle are left out. */
export function layered(
  ids: readonly string[],
  edges: readonly (readonly [string, string])[],
  size: Size,
  group: (id: string) => string | null = () => null,
): Drawing {
  const items = new Map<string, Item>();
  for (const id of ids) {
    items.set(id, { id, layer: 0, fold: 0, width: size.width, up: [], down: [], x: 0, place: 0, group: group(id) });
  }
  const arrows = edges.filter(([from, to]) => items.has(from) && items.has(to) && from !== to);
  assignLayers(items, arrows);
  const layers = folded(items, arrows);
  const shared = new Map<string, Item>();
  const routes = arrows.map(([from, to]) => route(items.get(from)!, items.get(to)!, layers, shared));
  order(layers);
  position(layers);
  return drawn(layers, items, routes, size);
}

/** Each node below all that it reads, and as near to its readers as that allows. */
function assignLayers(items: Map<string, Item>, arrows: (readonly [string, string])[]): void {
  const down = new Map<string, string[]>();
  const degree = new Map<string, number>();
  for (const [from, to] of arrows) {
    down.set(from, [...(down.get(from) ?? []), to]);
    degree.set(to, (degree.get(to) ?? 0) + 1);
  }
  const ready = [...items.keys()].filter((id) => !degree.get(id));
  const done: string[] = [];
  while (ready.length > 0) {
    const id = ready.shift()!;
    done.push(id);
    for (const to of down.get(id) ?? []) {
      items.get(to)!.layer = Math.max(items.get(to)!.layer, items.get(id)!.layer + 1);
      degree.set(to, degree.get(to)! - 1);
      if (degree.get(to) === 0) ready.push(to);
    }
  }
  const sources = new Set(done.filter((id) => !arrows.some(([, to]) => to === id)));
  for (const id of done.reverse()) {
    const below = (down.get(id) ?? []).map((to) => items.get(to)!.layer);
    if (sources.has(id) && below.length > 0) items.get(id)!.layer = Math.max(Math.min(...below) - 1, 0);
  }
}

/** The layers, of which one with many nodes becomes several: those that only are read above, those that only read below. */
function folded(items: Map<string, Item>, arrows: (readonly [string, string])[]): Item[][] {
  const whole: Item[][] = [];
  for (const item of items.values()) (whole[item.layer] ??= []).push(item);
  const isRead = new Set(arrows.map(([from]) => from));
  const reads = new Set(arrows.map(([, to]) => to));
  const rank = ({ id }: Item) => (reads.has(id!) ? 1 : 0) - (isRead.has(id!) ? 1 : 0);
  const layers: Item[][] = [];
  for (const all of whole) {
    const fold = layers.length;
    const sorted = [...all].sort((a, b) => rank(a) - rank(b));
    for (let at = 0; at < sorted.length; at += MOST_IN_LAYER) {
      const part = sorted.slice(at, at + MOST_IN_LAYER);
      for (const item of part) Object.assign(item, { layer: layers.length, fold });
      layers.push(part);
    }
  }
  return layers;
}

/** The items that an arrow passes, its ends included; empty where it would point up. Arrows out of one folded layer to
 * one node pass the rest of that layer together, as do those from one node into a folded layer. */
function route(from: Item, to: Item, layers: Item[][], shared: Map<string, Item>): Item[] {
  if (to.layer <= from.layer) return [];
  const path = [from];
  const group = from.group !== null && from.group === to.group ? from.group : null;
  for (let layer = from.layer + 1; layer < to.layer; layer += 1) {
    const { fold } = layers[layer][0];
    const end = fold === from.fold ? `to ${to.id}` : fold === to.fold ? `from ${from.id}` : null;
    const key = `${layer} ${group} ${end}`;
    let stand = end === null ? undefined : shared.get(key);
    if (!stand) {
      stand = { id: null, layer, fold, width: 10, up: [], down: [], x: 0, place: 0, group };
      if (end === null) layers[layer].push(stand);
      else {
        layers[layer].splice(layers[layer].length / 2, 0, stand); // at a side, each row would stand further aside
        shared.set(key, stand);
      }
    }
    path.push(stand);
  }
  path.push(to);
  for (let i = 1; i < path.length; i += 1) {
    if (path[i - 1].down.includes(path[i])) continue;
    path[i - 1].down.push(path[i]);
    path[i].up.push(path[i - 1]);
  }
  return path;
}

/** Sort each layer by the mean place of the neighbours above, then below, in turn; the order with the fewest crossings. */
function order(layers: Item[][]): void {
  layers.forEach(number);
  let best = { crossings: crossings(layers), places: layers.map((layer) => [...layer]) };
  for (let sweep = 0; sweep < SWEEPS && best.crossings > 0; sweep += 1) {
    const goesDown = sweep % 2 === 0;
    for (const layer of goesDown ? layers : [...layers].reverse()) {
      sortBy(layer, (item) => mean(goesDown ? item.up : item.down, (other) => other.place) ?? item.place);
      number(layer);
    }
    const now = crossings(layers);
    if (now < best.crossings) best = { crossings: now, places: layers.map((layer) => [...layer]) };
  }
  best.places.forEach((places, i) => {
    layers[i].splice(0, layers[i].length, ...places);
    number(layers[i]);
  });
}

const number = (layer: Item[]) =>
  layer.forEach((item, i) => {
    item.place = i;
  });

/** Members of a group stand where the mean of the group would. */
function sortBy(layer: Item[], wish: (item: Item) => number): void {
  const own = new Map(layer.map((item) => [item, wish(item)]));
  const groups = new Map<string, number>();
  for (const item of layer) {
    if (item.group === null || groups.has(item.group)) continue;
    groups.set(
      item.group,
      mean(
        layer.filter((other) => other.group === item.group),
        (other) => own.get(other)!,
      )!,
    );
  }
  const first = (item: Item) => (item.group === null ? own.get(item)! : groups.get(item.group)!);
  layer.sort((a, b) => {
    if (a.group !== b.group || a.group === null) return first(a) - first(b) || compareGroups(a, b);
    return own.get(a)! - own.get(b)!;
  });
}

const compareGroups = (a: Item, b: Item) => (a.group ?? "").localeCompare(b.group ?? "");

function crossings(layers: Item[][]): number {
  let count = 0;
  for (const layer of layers) {
    const ends: number[] = [];
    for (const item of layer) {
      const places = item.down.map((other) => other.place).sort((a, b) => a - b);
      for (const place of places) for (const before of ends) if (before > place) count += 1;
      ends.push(...places);
    }
  }
  return count;
}

function mean<T>(of: readonly T[], value: (one: T) => number): number | null {
  return of.length === 0 ? null : of.reduce((sum, one) => sum + value(one), 0) / of.length;
}

/** Each layer as near to its neighbours as order and widths allow, from above and from below in turn. */
function position(layers: Item[][]): void {
  for (const layer of layers) {
    let x = 0;
    for (const item of layer) {
      item.x = x + item.width / 2;
      x += item.width + GAP_X;
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const goesDown = sweep % 2 === 0;
    for (const layer of goesDown ? layers : [...layers].reverse()) {
      place(layer, (item) => mean(goesDown ? item.up : item.down, (other) => other.x) ?? item.x);
    }
  }
}

/** The places nearest to the wished ones that keep order and gaps (least squares, by pooling neighbours). */
function place(layer: Item[], wish: (item: Item) => number): void {
  const offsets: number[] = [];
  layer.forEach((item, i) => {
    offsets.push(i === 0 ? 0 : offsets[i - 1] + (layer[i - 1].width + item.width) / 2 + GAP_X);
  });
  const pools: { sum: number; size: number }[] = [];
  layer.forEach((item, i) => {
    let pool = { sum: wish(item) - offsets[i], size: 1 };
    for (let last = pools.at(-1); last && last.sum / last.size > pool.sum / pool.size; last = pools.at(-1)) {
      pools.pop();
      pool = { sum: pool.sum + last.sum, size: pool.size + last.size };
    }
    pools.push(pool);
  });
  let i = 0;
  for (const { sum, size } of pools) {
    for (const end = i + size; i < end; i += 1) layer[i].x = sum / size + offsets[i];
  }
}

function drawn(layers: Item[][], items: Map<string, Item>, routes: Item[][], size: Size): Drawing {
  const all = layers.flat();
  const left = Math.min(0, ...all.map((item) => item.x - item.width / 2));
  const top = (layer: number) => layer * (size.height + GAP_Y);
  const nodes = new Map<string, Placed>();
  for (const [id, item] of items) nodes.set(id, { x: item.x - left, y: top(item.layer) });
  const points = (path: Item[]) =>
    path.flatMap((item, i): [number, number][] => {
      const x = item.x - left;
      const y = top(item.layer);
      if (i === 0) return [[x, y + size.height]];
      return i === path.length - 1
        ? [[x, y]]
        : [
            [x, y],
            [x, y + size.height],
          ];
    });
  return {
    width: Math.max(size.width, ...all.map((item) => item.x - left + item.width / 2)),
    height: layers.length === 0 ? 0 : top(layers.length - 1) + size.height,
    nodes,
    edges: routes.map(points),
  };
}
