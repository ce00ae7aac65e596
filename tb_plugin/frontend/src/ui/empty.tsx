// The page of a log directory without runs: what to do next, ready to copy.

import { useState } from "preact/hooks";
import type { JSX } from "preact";

function snippets(logdir: string): { title: string; note: string; code: string }[] {
  const dir = logdir || "runs";
  const text = JSON.stringify(`${dir.replace(/\/$/, "")}/exp1`);
  return [
    {
      title: "Train with PyTorch",
      note: "Step times and phases for every step, a deep window of a few steps, CPU and GPU monitoring.",
      code: `from stepscope_torch import Profiler

with Profiler(${text}, model) as prof:
    for batch in loader:
        train_step(batch)`,
    },
    {
      title: "Train with Keras",
      note: "The same for model.fit, on the TensorFlow backend.",
      code: `from stepscope_tf import ProfilerCallback

profiler = ProfilerCallback(${text})
model.fit(dataset, callbacks=[profiler])`,
    },
    {
      title: "Open a trace you have",
      note: "Files of torch.profiler (*.pt.trace.json, also .gz) and of TensorFlow or JAX (*.xplane.pb).",
      code: `stepscope import trace.pt.trace.json.gz \\
    --out ${/^[\w./:@-]+$/.test(dir) ? dir : `'${dir.replace(/'/g, `'\\''`)}'`}`,
    },
  ];
}

export function EmptyLogdir({ logdir }: { logdir: string }): JSX.Element {
  return (
    <main class="empty" data-testid="empty-logdir">
      <h1>No profile here yet</h1>
      <p class="empty-lead">
        {logdir ? (
          <>
            <code>{logdir}</code> holds no Stepscope run and no trace file.
          </>
        ) : (
          "The log directory holds no Stepscope run and no trace file."
        )}{" "}
        Start with one of these; this page notices new data by itself.
      </p>
      <div class="empty-cards">
        {snippets(logdir).map((snippet) => (
          <Snippet key={snippet.title} {...snippet} />
        ))}
      </div>
    </main>
  );
}

function Snippet({ title, note, code }: { title: string; note: string; code: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(code);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      setCopied(false); // not allowed in this page: the text can be selected
    }
  };
  return (
    <section class="card snippet">
      <div class="snippet-head">
        <h2>{title}</h2>
        <button type="button" class="copy" onClick={copy} aria-label={`Copy: ${title}`}>
          {copied ? "Copied" : "Copy"}
        </button>
      </div>
      <p>{note}</p>
      <pre class="code">
        <code>{code}</code>
      </pre>
    </section>
  );
}
