"""Findings: what is slow in a run and what to do about it. One rule a file; docs/rules.md lists them.

A rule is a function of a ``Case``, one worker's numbers, that returns a ``Finding`` or None. Packages add rules by
entry points of the group ``stepscope.rules`` that name such functions.
"""

from stepscope.rules.case import Case
from stepscope.rules.engine import Found, find, of_run
from stepscope.rules.finding import SEVERITIES, Finding, Gain, Place
from stepscope.rules.parameters import Parameters
from stepscope.rules.registry import RULES
from stepscope.rules.samples import Samples
from stepscope.rules.straggler import straggler
from stepscope.rules.verdict import Bound, Verdict, verdict

__all__ = [
    "RULES",
    "SEVERITIES",
    "Bound",
    "Case",
    "Finding",
    "Found",
    "Gain",
    "Parameters",
    "Place",
    "Samples",
    "Verdict",
    "find",
    "of_run",
    "straggler",
    "verdict",
]
