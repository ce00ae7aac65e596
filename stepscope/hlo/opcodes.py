"""Groups of HLO opcodes, by how their work is counted."""

from __future__ import annotations

#: Functions that take several floating point operations an element; counted apart from FLOPs.
TRANSCENDENTAL = frozenset((
    "atan2", "cbrt", "cosine", "erf", "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic",
    "power", "rsqrt", "sine", "sqrt", "tan", "tanh", "rng",
))  # fmt: skip
#: One operation an element.
ELEMENTWISE = frozenset((
    "abs", "add", "and", "ceil", "clamp", "clz", "compare", "complex", "convert", "divide", "floor", "imag",
    "is-finite", "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "real", "reduce-precision",
    "remainder", "round-nearest-afz", "round-nearest-even", "select", "shift-left", "shift-right-arithmetic",
    "shift-right-logical", "sign", "stochastic-convert", "subtract", "xor",
))  # fmt: skip
#: They move or name data; what they cost is bytes.
MOVES = frozenset((
    "all-gather", "all-gather-start", "all-to-all", "broadcast", "bitcast-convert", "collective-broadcast",
    "collective-permute", "collective-permute-start", "concatenate", "copy", "copy-start", "dynamic-reshape",
    "dynamic-slice", "dynamic-update-slice", "gather", "get-dimension-size", "infeed", "iota", "outfeed", "pad",
    "ragged-all-to-all", "recv", "reduce-scatter", "reshape", "reverse", "rng-get-and-update-state", "send",
    "set-dimension-size", "slice", "transpose",
))  # fmt: skip
#: They cost nothing.
FREE = frozenset((
    "add-dependency", "after-all", "all-gather-done", "all-reduce-done", "async-done", "async-update", "bitcast",
    "collective-permute-done", "constant", "copy-done", "domain", "get-tuple-element", "opt-barrier", "parameter",
    "partition-id", "recv-done", "replica-id", "send-done", "tuple",
))  # fmt: skip
#: They run other computations, whose instructions the profiler shows by themselves.
CONTAINERS = frozenset((
    "call", "while", "conditional",
))  # fmt: skip
#: They call a function for many elements.
APPLIED = frozenset((
    "map", "reduce", "reduce-window", "scatter", "select-and-scatter",
))  # fmt: skip
