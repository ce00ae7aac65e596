"""Verdict and findings as text."""

from __future__ import annotations

from typing import Any

from stepscope.report import format as fmt

TOP = 6
_WIDTH = 400


def verdict_line(summary: dict[str, Any]) -> str:
    """The verdict with its severity."""
    told = summary["verdict"]
    return f"{told['severity']}: {fmt.name(told['sentence'], _WIDTH)}"


def findings(summary: dict[str, Any]) -> list[str]:
    """Each finding in three lines: what is slow, what it would gain and how sure that is, what to do first."""
    found = summary["findings"]
    lines = []
    for finding in found[:TOP]:
        lines.append(f"  [{finding['severity']}] {fmt.name(finding['message'], _WIDTH)} ({finding['rule']})")
        lines += [f"      do: {advice}" for advice in finding["fix"][:1]]
        lines.append(f"      {_worth(finding)}")
    if len(found) > TOP:
        lines.append(f"  and {fmt.count(len(found) - TOP, 'more finding')}; --format json has them all")
    return lines


def _worth(finding: dict[str, Any]) -> str:
    gain = finding["gain"]
    saved = "gain not known"
    if gain:
        per_step = "" if gain["ns_per_step"] is None else f", {fmt.time(gain['ns_per_step'])} a step"
        saved = f"gain up to {fmt.percent(gain['ratio'])}{per_step}"
    return f"{saved}; confidence {finding['confidence']}"
