// Names of steps, and the parts of sums over them.

const IN_JAX = 'jax.profiler.StepTraceAnnotation("train", step_num=n)';
const IN_TENSORFLOW = 'tf.profiler.experimental.Trace("train", step_num=n, _r=1)';

/** How the steps of a worker come to be marked, by its framework; of one that serves requests, which needs none. */
export function howToMark(framework: string | null, serves = false): string {
  if (serves)
    return "Requests need none. Deep windows open at steps, though: with prof.step() or stepscope_tf.step() after each request the run has both.";
  if (framework === "jax") return `In JAX put each step into ${IN_JAX}.`;
  if (framework === "tensorflow")
    return `The Keras callback marks steps by itself; in a loop of your own put each step into ${IN_TENSORFLOW}.`;
  if (framework === "pytorch")
    return "The PyTorch hook marks steps by itself; with torch.profiler call prof.step() after each step.";
  return `The PyTorch hook and the Keras callback mark steps by themselves; with torch.profiler call prof.step() after each step, in JAX put each one into ${IN_JAX}.`;
}

export interface Share<K extends string> {
  key: K;
  ns: number;
  ratio: number;
}

export interface Totals<K extends string> {
  total_ns: number;
  shares: Share<K>[];
}

/** What a step is called: its own number, else its marker, else its place. */
export function stepName(
  steps: { id: (number | null)[]; label: (string | null)[]; index?: number[] },
  at: number,
): string {
  const id = steps.id[at];
  return id != null ? String(id) : (steps.label[at] ?? `#${(steps.index?.[at] ?? at) + 1}`);
}

/** The parts of a sum over steps, those above 0, in drawing order. Nulls were not measured. */
export function sharesOf<K extends string>(
  sums: Record<string, number | null> | null | undefined,
  keys: readonly K[],
): Totals<K> {
  const ns = (key: K) => sums?.[key] ?? 0;
  const total = keys.reduce((sum, key) => sum + ns(key), 0);
  return {
    total_ns: total,
    shares: keys.filter((key) => ns(key) > 0).map((key) => ({ key, ns: ns(key), ratio: ns(key) / total })),
  };
}
