"""The resource monitor's samples, so that rules can ask what two metrics were at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stepscope.analysis.monitor_series import series_of
from stepscope.analysis.percentiles import weighted
from stepscope.schema import NONE


@dataclass(frozen=True, eq=False)
class Series:
    """Samples in order of time, one entry each; the times rise strictly."""

    ts_ns: np.ndarray
    value: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def after(self, skipped: int) -> np.ndarray:
        """The values without the first ones, in which a job starts up."""
        return self.value[skipped:]


class Samples:
    """Series of one host by metric and index (core, GPU; ``NONE`` for the total)."""

    def __init__(self, tables: Iterable[pa.Table] = ()) -> None:
        parts: dict[tuple[str, int], list[tuple[np.ndarray, np.ndarray]]] = {}
        for table in tables:
            for key, ts, value in series_of(table):
                known = np.isfinite(value)
                if known.any():
                    parts.setdefault(key, []).append((ts[known], value[known]))
        self._series = {key: _series(found) for key, found in parts.items()}

    def total(self, metric: str) -> Series | None:
        """The series of the whole host; None where there is none."""
        return self._series.get((metric, NONE))

    def each(self, metric: str) -> dict[int, Series]:
        """The series of each core or GPU."""
        return {index: s for (name, index), s in sorted(self._series.items()) if name == metric and index != NONE}

    def mean_of_each(self, metric: str) -> Series | None:
        """The mean over cores or GPUs at the times at which all have a sample."""
        found = list(self.each(metric).values())
        if not found:
            return None
        common = found[0].ts_ns
        for series in found[1:]:
            common = np.intersect1d(common, series.ts_ns, assume_unique=True)
        if len(common) == 0:
            return None
        rows = [s.value[np.searchsorted(s.ts_ns, common)] for s in found]
        return Series(common, np.mean(rows, axis=0))

    def first_ns(self) -> int | None:
        """The first sample of all."""
        return min((int(s.ts_ns[0]) for s in self._series.values()), default=None)


def percentiles(value: np.ndarray, *percents: int) -> list[float]:
    """By nearest rank, as everywhere; each sample counts once."""
    return weighted(value, np.ones(len(value)), *percents)


def together(a: Series, b: Series) -> tuple[np.ndarray, np.ndarray]:
    """The values of both at the times that both have: the monitor stamps one reading of all sources alike."""
    _, mine, other = np.intersect1d(a.ts_ns, b.ts_ns, assume_unique=True, return_indices=True)
    return a.value[mine], b.value[other]


def _series(parts: list[tuple[np.ndarray, np.ndarray]]) -> Series:
    ts = np.concatenate([p[0] for p in parts])
    ts, first = np.unique(ts, return_index=True)
    return Series(ts, np.concatenate([p[1] for p in parts])[first])
