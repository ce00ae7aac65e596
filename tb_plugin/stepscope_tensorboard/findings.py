"""Findings of one worker as the page has them: places relative to the origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.summary.findings import run_findings


def findings_impl(about: Mapping[str, Any], origin_ns: int) -> dict[str, Any]:
    """``findings`` and ``verdict`` of a worker by itself.

    Args:
        about: the worker's part of the contract.
        origin_ns: what times are relative to.
    """
    told = run_findings([about], None)
    for finding in told["findings"]:
        for place in finding["places"]:
            if place["start_ns"] is not None:
                place["start_ns"] -= origin_ns
    return told
