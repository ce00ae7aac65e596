"""Writes docs/rules.md from the docstrings of the rules: ``python docs/make_rules.py``.

A rule's docstring: what it looks for, "Fires ...", the thresholds by name with where their values come from, the gain.
A test fails where rules.md is not what this script makes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepscope.rules import RULES, Bound, Finding, Gain, Parameters, Place, Verdict, straggler

TARGET = Path(__file__).with_name("rules.md")

HEAD = """<!-- Made by docs/make_rules.py from the docstrings of stepscope/rules. Do not edit. -->
# Findings: what is slow, and what to do

Rules look at the numbers of a run ([metrics.md](metrics.md)) and tell what costs time, why, what to do about it and
what that would gain at most. `stepscope summary` prints them first, `--format json` has them under `findings`, and the
Summary tab shows them on top. The first one that is critical or a warning is the *verdict*; without one it says what
bounds the step.

Gains are upper bounds, reckoned from the numbers shown: two findings may want the same time. Missing numbers silence a
rule. Notes on data quality and what speaks against a finding lower its confidence.

## Checks in CI
`stepscope summary RUN --fail-on warning` exits with status 1 if there is a finding of that severity or a higher one
(2 still means that the run could not be read). `--limit NAME=VALUE` sets one of the thresholds below, as often as
needed: `--limit input_warning=0.1`.

## Rules of your own
An installed package adds rules by entry points of the group `stepscope.rules`, each of which names a function that
takes a `stepscope.rules.Case` and returns a `stepscope.rules.Finding` or None:

```python
from stepscope.rules import Case, Finding


def many_kernels(case: Case) -> Finding | None:
    runs = sum(kernel["count"] for kernel in case.rows("kernels"))
    if case.deep is None or not case.deep.steps or runs / case.deep.steps < 10_000:
        return None
    return Finding(
        rule="many_kernels",
        severity="warning",
        message=f"A step runs {runs // case.deep.steps:,} kernels.",
        evidence={"kernel_runs": runs},
        fix=["Compile the model."],
        rests_on=("kernels",),
    )
```

`rests_on` names the topics of `stepscope.analysis.trust` that the numbers belong to. A rule that fails leaves a note
`rule_failed`, and the others stand.

## Rules of SageMaker Debugger
| there | here |
|---|---|
| BatchSize, CPUBottleneck, IOBottleneck, LowGPUUtilization, LoadBalancing | `batch_size`, `cpu_bottleneck`, \
`io_bottleneck`, `low_gpu_utilization`, `load_balancing`, with its thresholds |
| GPUMemoryIncrease | `memory_growth` |
| StepOutlier | `step_outlier` |
| MaxInitializationTime | `slow_start` |
| Dataloader | `loader_workers` |
| OverallSystemUsage, OverallFrameworkMetrics | no rules: `resources`, `phase_total_ns` and `activity_total_ns` of the \
summary |
"""

RESULTS = (
    ("Findings", "findings[], workers[].findings[]", Finding),
    ("Gain", "findings[].gain", Gain),
    ("Places", "findings[].places[]", Place),
    ("Verdict", "verdict", Verdict),
    ("What bounds the step", "workers[].bound", Bound),
)


def page() -> str:
    """The whole of rules.md."""
    parts = [HEAD, "\n## What a finding tells"]
    parts += [_result(*result) for result in RESULTS]
    parts.append("\n## The rules")
    parts += [_rule(rule) for rule in (*RULES, straggler)]
    return "\n".join(parts) + "\n"


def _result(title: str, place: str, documented: type) -> str:
    text, _, listed = (inspect.getdoc(documented) or "").partition("Metrics:")
    rows = [f"| `{name}` | {meaning} |" for name, meaning in _entries(listed)]
    return "\n".join([f"\n### {title}\n`{place}`\n\n{_markdown(text)}\n\n| name | meaning |\n|---|---|", *rows])


def _rule(rule: Callable[..., Any]) -> str:
    doc = inspect.getdoc(rule) or ""
    before, _, rest = doc.partition("Thresholds:")
    listed, _, gain = rest.partition("Gain:")
    if not rest:
        before, _, gain = before.partition("Gain:")
    defaults = Parameters()
    rows = [f"| `{name}` | {getattr(defaults, name):g} | {meaning} |" for name, meaning in _entries(listed)]
    lines = [f"\n### {rule.__name__}\n{_markdown(before)}\n\n*Gain:* {_markdown(gain)}"]
    if rows:
        lines += ["\n| threshold | default | where it comes from |\n|---|---|---|", *rows]
    return "\n".join(lines)


def _entries(listed: str) -> list[tuple[str, str]]:
    """``name: meaning`` lines, continued ones joined."""
    listed = re.sub(r"\n {8,}", " ", listed)
    return [(name, _markdown(meaning)) for name, meaning in re.findall(r"^ {4}(\w+): (.*)$", listed, re.MULTILINE)]


def _markdown(text: str) -> str:
    return text.strip().replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
