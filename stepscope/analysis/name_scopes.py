"""Name scopes of TensorFlow and JAX: which layer an operator or a kernel comes from, as its name tells.

TensorFlow writes ``sequential/hidden/MatMul:MatMul`` and, for gradients, ``gradient_tape/sequential/hidden/...``;
Keras opens a scope for each layer, and operators open scopes in CamelCase, so the layer is the path up to the last
part that does not begin with a capital. JAX writes ``jit(step)/transpose(jvp(Model))/Dense_0/dot_general``: the last
part is the primitive, transformations stand around names, and ``transpose`` is the backward pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.arguments import ScopeArgs, decode
from stepscope.analysis.select import device_work, host_rows
from stepscope.schema import NONE, Events, Kind

_TF_NAME = re.compile(r"(?P<path>[\w.\-]+(?:/[\w.\-]+)+):\w+")
_JAX_NAME = re.compile(r"(?:jit|pjit|pmap)\([^/]*\)/.+")
_TRANSFORMED = re.compile(r"(\w+)\((.*)\)")
_JITTED = frozenset({"jit", "pjit", "pmap", "xla_call"})
_GRADIENT = "gradient_tape"

Scope = tuple[tuple[str, ...], bool]  # path, whether it runs in the backward pass


@dataclass(frozen=True, eq=False)
class Scopes:
    """``parent`` (``NONE`` at the top) and ``label`` have one entry a scope; a parent comes before its children.

    ``rows`` are operators and device work with a scope, ``owner`` is their scope, and ``backward`` tells those
    of the backward pass.
    """

    parent: np.ndarray
    label: list[str]
    rows: np.ndarray
    owner: np.ndarray
    backward: np.ndarray


def read_scopes(events: Events) -> Scopes | None:
    """The scopes of operators, and of device work that names its origin; None if there are none."""
    by_name = {i: scope for i, name in enumerate(events.names) if (scope := scope_of(name))}
    ops = host_rows(events, Kind.OP) if by_name else np.empty(0, np.int64)
    work = device_work(events)
    args, at = decode(events, work, ScopeArgs)
    by_args = [_first(a.name, a.tf_op) for a in args]
    table: dict[tuple[str, ...], int] = {}
    of_name = np.full(len(events.names) + 1, NONE, np.int64)
    name_backward = np.zeros(len(events.names) + 1, bool)
    for i, (path, in_backward) in by_name.items():
        of_name[i], name_backward[i] = _number(table, path), in_backward
    of_args = np.array([_number(table, scope[0]) if scope else NONE for scope in by_args], np.int64)[at]
    args_backward = np.array([bool(scope and scope[1]) for scope in by_args], bool)[at]
    rows = np.concatenate((ops, work))
    owner = np.concatenate((of_name[events.name[ops]], of_args))
    backward = np.concatenate((name_backward[events.name[ops]], args_backward))
    known = owner != NONE
    if not known.any():
        return None
    parent = np.array([table[path[:-1]] if len(path) > 1 else NONE for path in table], np.int64)
    return Scopes(parent, [path[-1] for path in table], rows[known], owner[known], backward[known])


def scope_of(name: str) -> Scope | None:
    """The scope that the name of an operator tells; None if it tells none."""
    if _JAX_NAME.fullmatch(name):
        return _jax_scope(name.split("/")[:-1])
    found = _TF_NAME.fullmatch(name)
    if found is None:
        return None
    parts = found["path"].split("/")[:-1]
    backward = parts[0] == _GRADIENT
    parts = parts[1:] if backward else parts
    while parts and parts[-1][0].isupper():
        parts.pop()
    return (tuple(parts), backward) if parts else None


def _jax_scope(parts: list[str]) -> Scope | None:
    backward = False
    path = []
    for part in parts:
        jitted = False
        while found := _TRANSFORMED.fullmatch(part):
            backward |= found[1] == "transpose"
            jitted |= found[1] in _JITTED
            part = found[2]
        if part and not jitted:
            path.append(part)
    return (tuple(path), backward) if path else None


def _first(*names: object) -> Scope | None:
    for name in names:
        if isinstance(name, str) and (scope := scope_of(name) or scope_of(name + ":")):
            return scope
    return None


def _number(table: dict[tuple[str, ...], int], path: tuple[str, ...]) -> int:
    """The number of a path; its parents get lower ones."""
    for depth in range(1, len(path) + 1):
        table.setdefault(path[:depth], len(table))
    return table[path]
