// Builds the pages into ../stepscope_tensorboard/static: index.js (a small ES module that exports render()), page.js
// (the pages, which it loads), index.css and the licence texts of what is bundled; each compressed as well.
// `node build.mjs --watch` rebuilds on every change.
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const outdir = fileURLToPath(new URL("../stepscope_tensorboard/static", import.meta.url));
const watch = process.argv.includes("--watch");

/** @type {import("esbuild").BuildOptions} */
const options = {
  absWorkingDir: here,
  entryPoints: { index: "src/index.ts", page: "src/page.tsx" },
  outdir,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: !watch,
  sourcemap: watch ? "inline" : false,
  legalComments: "none",
  logLevel: "warning",
};

if (watch) {
  const context = await esbuild.context(options);
  await context.watch();
} else {
  // Made beside: a server goes on sending the pages of before until these are whole.
  const made = `${here}node_modules/.built-${process.pid}`;
  try {
    const { metafile } = await esbuild.build({ ...options, outdir: made, metafile: true });
    await writeFile(`${made}/LICENSES.txt`, await licenses(Object.keys(metafile.inputs)));
    for (const name of await readdir(made)) {
      await writeFile(`${made}/${name}.gz`, gzipSync(await readFile(`${made}/${name}`), { level: 9 }));
    }
    await rm(outdir, { recursive: true, force: true });
    await rename(made, outdir);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** The licence texts of every package that is in the bundle, as their licences ask for. */
async function licenses(inputs) {
  const found = new Set();
  for (const path of inputs) {
    const name = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1];
    if (name) found.add(name);
  }
  const parts = [];
  for (const name of [...found].sort()) {
    const folder = `${here}node_modules/${name}`;
    const { version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice)/i.test(file)).sort();
    const texts = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, "utf8").catch(() => "")));
    parts.push(`${name} ${version} (${license})\n\n${texts.filter(Boolean).join("\n\n").trim()}`);
  }
  return `${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
