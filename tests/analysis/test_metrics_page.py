"""docs/metrics.md is what the docstrings say, and every field and code has its definition."""

import ast
import importlib.util
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from stepscope.analysis.quality import CODES
from stepscope.schema import ACTIVITIES, PHASES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("stepscope", "torch_plugin", "tf_plugin", "tb_plugin")


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_metrics", ROOT / "docs" / "make_metrics.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(maker):
    assert maker.TARGET.read_text(encoding="utf-8") == maker.page(), "run: python docs/make_metrics.py"


def test_every_field_is_defined(maker):
    defined = {title: {name for name, _ in maker.split(documented)[1]} for title, _, _, documented in maker.SECTIONS}
    assert defined["Step activity"] == set(ACTIVITIES)
    assert defined["Step phases"] == set(PHASES)
    columns = ("Steps", "Step phases")
    hidden = {"before_call", "device", "properties"}  # a note, the key of the entry, what only the importers see
    for title, _, _, documented in maker.SECTIONS:
        if not is_dataclass(documented) or title in columns:
            continue
        assert defined[title] - hidden == {f.name for f in fields(documented)} - hidden, title


def test_every_quality_code_in_use_is_defined():
    used = {}
    for source in SOURCES:
        for path in (ROOT / source).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call) or len(node.args) < 2:
                    continue
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                first = node.args[0]
                is_code = isinstance(first, ast.Constant) and isinstance(first.value, str)
                if is_code and called in ("add", "note", "Note"):
                    used[first.value] = path.relative_to(ROOT)
    assert len(used) > 20
    assert {code: str(path) for code, path in used.items() if code not in CODES} == {}
