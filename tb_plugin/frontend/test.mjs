// Bundles test/*.test.ts with esbuild and runs them with node's own test runner: no test framework to install.
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const tests = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
const outdir = await mkdtemp(join(here, "node_modules", ".test-"));
let status = 1;
try {
  await esbuild.build({
    absWorkingDir: here,
    entryPoints: tests.map((name) => join("test", name)),
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    jsx: "automatic",
    jsxImportSource: "preact",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const built = tests.map((name) => join(outdir, name.replace(/\.ts$/, ".mjs")));
  status =
    spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=spec", ...built], {
      stdio: "inherit",
    }).status ?? 1;
} finally {
  await rm(outdir, { recursive: true, force: true });
}
process.exit(status);
