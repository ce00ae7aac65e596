"""The resource monitor's samples, a table of all metrics, taken apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa


def series_of(samples: pa.Table) -> Iterator[tuple[tuple[str, int], np.ndarray, np.ndarray]]:
    """Each series of a table of ``MONITOR_SCHEMA``: metric and index (core, GPU; ``NONE``: the total), Unix ns, values.

    By metric, as the metrics first occur, and index; each in order of time. A value that could not be read is NaN.
    """
    metric = samples.column("metric").combine_chunks().dictionary_encode()
    code = metric.indices.to_numpy(zero_copy_only=False)
    ts, index, value = (samples.column(c).to_numpy() for c in ("ts_ns", "index", "value"))
    names = metric.dictionary.to_pylist()
    order = np.lexsort((ts, index, code))
    begins = np.flatnonzero((np.diff(code[order], prepend=-1) != 0) | (np.diff(index[order], prepend=-2) != 0))
    for rows in np.split(order, begins[1:]) if len(order) else []:
        yield (names[code[rows[0]]], int(index[rows[0]])), ts[rows], value[rows]
