"""The C++ part is used where it fits the Python beside it."""

import logging

import pytest

from stepscope import hot

pytestmark = pytest.mark.skipif(hot.extension is None, reason="the C++ part was not built or is switched off")


@pytest.mark.parametrize(("text", "is_used"), [("// another state", False), (None, True)])
def test_one_of_other_sources_is_not_used(tmp_path, monkeypatch, caplog, text, is_used):
    if text is not None:  # else as in an installed package, which has no sources
        (tmp_path / "marks.cpp").write_text(text)
    monkeypatch.setattr(hot, "_SOURCES", tmp_path)
    with caplog.at_level(logging.WARNING, "stepscope"):
        assert (hot._load() is hot.extension) == is_used
    assert ("rebuild it: pip install -e ." in caplog.text) == (not is_used)


def test_it_is_switched_off_by_the_environment(monkeypatch):
    monkeypatch.setenv(hot.SWITCH_VARIABLE, "1")
    assert hot._load() is None
