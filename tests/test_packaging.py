"""The import rules between the packages hold, and an sdist and a wheel hold what they should."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import stepscope

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {
    "stepscope": ROOT / "stepscope",
    "stepscope_torch": ROOT / "torch_plugin" / "stepscope_torch",
    "stepscope_tf": ROOT / "tf_plugin" / "stepscope_tf",
    "stepscope_tensorboard": ROOT / "tb_plugin" / "stepscope_tensorboard",
}
FRAMEWORKS = {"torch", "tensorflow", "keras", "jax", "lightning", "transformers"}

#: package -> top-level modules that it must not import, not even inside a function.
FORBIDDEN = {
    "stepscope": FRAMEWORKS | {"tensorboard", "stepscope_torch", "stepscope_tf", "stepscope_tensorboard"},
    "stepscope_torch": {"tensorflow", "keras", "tensorboard", "stepscope_tf", "stepscope_tensorboard"},
    "stepscope_tf": {"tensorboard", "stepscope_torch", "stepscope_tensorboard"},
    "stepscope_tensorboard": FRAMEWORKS | {"stepscope_torch", "stepscope_tf"},
}
#: But for the command that starts TensorBoard.
ALLOWED = {("stepscope/cli/view.py", "tensorboard"), ("stepscope/cli/view.py", "stepscope_tensorboard")}


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Top-level names of all modules that are imported anywhere in a file, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0], node.lineno


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_imports_run_one_way(package: str) -> None:
    wrong = []
    for path in sorted(SOURCES[package].rglob("*.py")):
        name = f"{package}/{path.relative_to(SOURCES[package]).as_posix()}"
        for module, line in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if module in FORBIDDEN[package] and (name, module) not in ALLOWED:
                wrong.append(f"{name}:{line} imports {module}")
    assert not wrong


def test_core_import_loads_no_framework() -> None:
    """What the ast cannot see (a dependency that imports one): nothing of the kind is loaded at run time."""
    code = "import sys, stepscope, stepscope.cli, stepscope.importers, stepscope.runs; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert not {name for name in loaded.split() if name in FRAMEWORKS | {"tensorboard"}}


def test_core_imports_what_the_plain_install_brings() -> None:
    """Each third-party module of the core is declared, and nothing is declared that is not used."""
    declared = {re.split(r"[><=!; \[]", line)[0] for line in requires("stepscope") or [] if "extra ==" not in line}
    modules = {"pynvml" if name == "nvidia-ml-py" else name for name in declared}
    used = {
        module
        for path in SOURCES["stepscope"].rglob("*.py")
        for module, _ in imported(ast.parse(path.read_text(encoding="utf-8")))
        if module not in sys.stdlib_module_names and module != "stepscope"
    }
    assert used - FORBIDDEN["stepscope"] == modules


def test_relative_imports_are_not_used() -> None:
    """Static tools resolve absolute imports only across the four source roots."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in SOURCES.values()
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert not found


def test_version_is_one() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    latest = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", stepscope.__version__)
    assert version("stepscope") == stepscope.__version__, "installed from another version: pip install -e . again"
    assert latest
    assert latest.group(1) == stepscope.__version__


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(sdist, wheel built from it), made from a copy of the checkout, with no Node to be found."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: what belongs to the project is not known")
    folder = tmp_path_factory.mktemp("dist")
    copy = folder / "checkout"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    static = Path("tb_plugin/stepscope_tensorboard/static")
    if not (ROOT / static / "index.js").is_file():
        pytest.skip("the web UI is not built here (python tools/web_ui.py build)")
    shutil.copytree(ROOT / static, copy / static)
    # the stamp of the copy: untracked files of the checkout are not part of it
    code = "import sys; sys.path.insert(0, 'tools'); import web_ui; web_ui.STAMP.write_text(web_ui.digest())"
    subprocess.run([sys.executable, "-c", code], cwd=copy, check=True)

    env = {**os.environ, "PATH": str(Path(sys.executable).parent)}
    code = "from setuptools import build_meta as b; print(b.build_sdist(sys.argv[1]))"
    made = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv[0] = 'setup.py'; {code}", str(folder)],
        cwd=copy,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    sdist = folder / made.stdout.split()[-1]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    made = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(sdist)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def test_sdist_holds_what_the_project_is(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "constraints.txt",
        "Makefile",
        "tools/web_ui.py",
        "tb_plugin/frontend/package-lock.json",
        "tb_plugin/frontend/.npmrc",
        "tb_plugin/stepscope_tensorboard/static/index.js",
        "tests/test_packaging.py",
        "examples/pytorch_small.py",
        "docs/api.md",
    } <= names
    assert not {name for name in names if "node_modules" in name or "__pycache__" in name}


def test_wheel_holds_every_package_and_the_web_ui(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as archive:
        names = set(archive.namelist())
        entry_points = next(archive.read(name).decode() for name in names if name.endswith("entry_points.txt"))
    for package, folder in SOURCES.items():
        expected = {
            f"{package}/{path.relative_to(folder).as_posix()}" for path in tracked(folder) if path.suffix == ".py"
        }
        assert expected <= names
    assert {f"{package}/py.typed" for package in SOURCES} <= names
    assert {
        f"stepscope_tensorboard/static/{name}" for name in ("index.js", "index.js.gz", "page.js", "index.css")
    } <= names
    assert {"stepscope_examples/pytorch_small.py", "stepscope_examples/keras_small.py"} <= names
    assert {name.partition("/")[0] for name in names if not name.startswith("stepscope-")} == {
        *SOURCES,
        "stepscope_examples",
    }
    assert "stepscope = stepscope.cli:main" in entry_points
    assert "stepscope = stepscope_tensorboard.plugin:StepscopePlugin" in entry_points


def tracked(folder: Path) -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "-z", "."], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    return [folder / name for name in filter(None, names.split("\0"))]


def test_lock_file_names_no_registry() -> None:
    lock = (ROOT / "tb_plugin" / "frontend" / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock


def test_constraints_pin_exactly() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*(; python_version .*)?", pin) for pin in pins)


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken
