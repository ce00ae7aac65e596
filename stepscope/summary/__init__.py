"""The summary contract: everything the Summary and Step breakdown tabs show, as plain data.

All times are integer ns, sizes bytes, ratios 0..1. A value that was not measured is None. Definitions of the
numbers stand in the docstrings of ``stepscope.analysis`` and, collected, in docs/metrics.md.
"""

from stepscope.summary.analysed import Analysis
from stepscope.summary.distributions import micro_step_time, step_time
from stepscope.summary.judgement import note_damage, note_ranks
from stepscope.summary.overview import in_detail, overview
from stepscope.summary.run import SUMMARY_VERSION, run_resources, summarize, summarize_worker
from stepscope.summary.worker import analyse_worker

__all__ = [
    "SUMMARY_VERSION",
    "Analysis",
    "analyse_worker",
    "in_detail",
    "micro_step_time",
    "note_damage",
    "note_ranks",
    "overview",
    "run_resources",
    "step_time",
    "summarize",
    "summarize_worker",
]
