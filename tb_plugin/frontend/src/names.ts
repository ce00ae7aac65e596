// Names of C++ templates in short: what tells two kernels apart is deep inside hundreds of letters that are the same.

const MOST_KEPT = 5000;
const kept = new Map<string, string>();

// "void a::b<", "a::(anonymous namespace)::b(" and the like; nothing else is touched.
const SIGNATURE = /^(?:void (?=[\w(])|(?=\w+::|\w+<))(?:\w+::|\(anonymous namespace\)::)*\w+[<(]/;
// AMD's matrix products: the size of a tile and of a work group stand between two hundred letters of settings.
const TENSILE = /^(Cijk_.+?)(?:_UserArgs)?_(MT\d+x\d+x\d+)_.+_(WG\d+_\d+_\d+)$/;
const OPEN = "<({[";
const CLOSE = ">)}]";

// PyTorch's wrappers around the function that is computed, and the parameters that only say how it is loaded.
const WRAPPER = /^gpu_kernel_impl/;
const ELEMENTWISE = /elementwise_kernel/;
const PLUMBING = /^(?:[aA]rray<char\*, \d+>|TrivialOffsetCalculator<.*|(?:Load|Store)With(?:out)?Cast\b.*)$/;

/**
 * A kernel's name without its return type, namespaces, parameters and plumbing, for where there is little room:
 * "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>". Any other text stays as it is.
 */
export function brief(name: string): string {
  if (name.startsWith("Cijk_")) return name.replace(TENSILE, "$1_$2_$3");
  if (name.length < 24 || !SIGNATURE.test(name)) return name;
  let short = kept.get(name);
  if (short === undefined) {
    if (kept.size >= MOST_KEPT) kept.clear();
    short = shorten(withoutCut(name.replace(/^void /, ""))) || name;
    kept.set(name, short);
  }
  return short;
}

/** One type or function; empty where its brackets do not match. */
function shorten(text: string): string {
  const path = split(text.trim(), "::");
  if (!path) return "";
  let lambda = ""; // the parameters of the innermost one: their types tell the variants of a function apart
  let own = "";
  for (const part of path) {
    const found = /^\{lambda\((.*)\)#\d+\}/.exec(part);
    if (found) lambda = found[1];
    else if (!part.startsWith("(anonymous") && !part.startsWith("operator()")) own = part;
  }
  const [, id, rest] = /^([\w~]*)(.*)$/s.exec(own) ?? [];
  if (id === undefined || !id) return own;
  if (!rest.startsWith("<")) {
    const types = lambda && list(lambda);
    return (/^\d+ul$/.test(id) ? id.slice(0, -2) : id) + (types ? `(${types})` : withoutCall(rest));
  }
  const end = closing(rest);
  if (end < 0) return "";
  const inner = list(rest.slice(1, end), ELEMENTWISE.test(id));
  if (inner === null) return "";
  if (WRAPPER.test(id)) return inner;
  return `${id}<${inner}>${withoutCall(rest.slice(end + 1))}`;
}

/** Without parameters whose middle is left out: the server sends the beginning and the end of a very long name. */
function withoutCut(text: string): string {
  const cut = text.indexOf("…");
  let depth = 0;
  for (let i = 0; i < cut; i += 1) {
    if (depth === 0 && text[i] === "(" && !text.startsWith("(anonymous", i)) return text.slice(0, i);
    if (OPEN.includes(text[i])) depth += 1;
    else if (CLOSE.includes(text[i])) depth -= 1;
  }
  return text;
}

/** What follows a name, without its parameters; anything behind them stays. */
const withoutCall = (rest: string) =>
  rest.startsWith("(") ? rest.slice(closing(rest) + 1).replace(/^ const$/, "") : rest;

function list(text: string, isElementwise = false): string | null {
  const parts = split(text, ",")?.map(shorten);
  if (!parts) return null;
  return parts.filter((part) => !(isElementwise && PLUMBING.test(part))).join(", ");
}

/** The text cut at a mark outside of all brackets; null where brackets do not match. */
function split(text: string, mark: string): string[] | null {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (OPEN.includes(text[i])) depth += 1;
    else if (CLOSE.includes(text[i])) depth -= 1;
    else if (depth === 0 && text.startsWith(mark, i)) {
      parts.push(text.slice(from, i));
      from = i + mark.length;
      i = from - 1;
    }
    if (depth < 0) return null;
  }
  return depth === 0 ? [...parts, text.slice(from)] : null;
}

/** Where the bracket that begins the text closes; -1 where it does not. */
function closing(text: string): number {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (OPEN.includes(text[i])) depth += 1;
    else if (CLOSE.includes(text[i]) && --depth === 0) return i;
  }
  return -1;
}
