"""docs/rules.md is what the docstrings of the rules say, and every threshold has its source."""

import importlib.util
import re
from dataclasses import fields
from pathlib import Path

import pytest

from stepscope.rules import RULES, Parameters, straggler

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_rules", ROOT / "docs" / "make_rules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(maker):
    assert maker.TARGET.read_text(encoding="utf-8") == maker.page(), "run: python docs/make_rules.py"


def test_every_threshold_is_told_with_its_source_by_the_rule_that_has_it():
    told = set()
    for rule in (*RULES, straggler):
        listed = (rule.__doc__ or "").partition("Thresholds:")[2].partition("Gain:")[0]
        told |= set(re.findall(r"^\s+(\w+): \w", listed, re.MULTILINE))
        assert "Fires " in rule.__doc__, rule.__name__
        assert "Gain: " in rule.__doc__, rule.__name__
    assert told == {f.name for f in fields(Parameters)}
