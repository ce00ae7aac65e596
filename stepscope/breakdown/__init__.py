"""What the Step breakdown asks of a worker's steps: which ones, in bars, in numbers, and what sets one apart."""

from stepscope.breakdown.bars import bars
from stepscope.breakdown.comparison import Work, comparison
from stepscope.breakdown.selection import Chosen, chosen_rows, partition_of
from stepscope.breakdown.statistics import statistics

__all__ = ["Chosen", "Work", "bars", "chosen_rows", "comparison", "partition_of", "statistics"]
