"""Modules of the model (nn.Module, Keras layers): what their forward and backward pass take on host and device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.autograd import Autograd
from stepscope.analysis.enclosing import innermost, inside
from stepscope.analysis.launches import Links
from stepscope.analysis.name_scopes import read_scopes
from stepscope.analysis.nesting import nest, paths
from stepscope.analysis.operators import Calls
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, Events, Kind

#: Modules that are listed, those with the largest times.
MAX_MODULES = 1000
_PREFIX = "nn.Module: "


@dataclass(frozen=True)
class Module:
    """One module of the model at its place in the hierarchy, as the capture shows it.

    PyTorch: calls of nn.Module objects, recorded with Python frames (``with_stack``); the name is the class and a
    number. The hierarchy is who calls whom. TensorFlow and JAX: name scopes, which Keras and Flax name by layer.

    Forward is what runs inside the calls. Backward is the backward nodes whose forward operator ran inside the
    calls; what autograd computes anew for them (checkpoints) is part of it. The entry without a path is what
    belongs to no module: with it, the self times sum to all device work. The list is bounded: the 1,000 with the
    largest times; ``modules_total`` tells how many there are.

    Metrics:
        path: the names of the modules from the outermost to this one
        calls: forward calls, null for name scopes, which have none
        forward_host_total_ns: time inside the calls
        forward_host_self_ns: the same without the modules that it calls
        forward_device_total_ns: durations of the device work launched inside the calls
        forward_device_self_ns: the same without that of the modules that it calls
        backward_host_total_ns: durations of its backward nodes, those of inner modules included
        backward_host_self_ns: the same without those of inner modules
        backward_device_total_ns: durations of the device work launched inside these nodes
        backward_device_self_ns: the same without that of inner modules
    """

    path: list[str]
    calls: int | None
    forward_host_total_ns: int | None
    forward_host_self_ns: int | None
    forward_device_total_ns: int | None
    forward_device_self_ns: int | None
    backward_host_total_ns: int | None
    backward_host_self_ns: int | None
    backward_device_total_ns: int | None
    backward_device_self_ns: int | None


@dataclass(frozen=True, eq=False)
class Owners:
    """Which module a row belongs to, and in which pass.

    ``parent`` (``NONE`` at the top) and ``label`` have one entry a module; a parent comes before its children.
    ``frame`` holds host rows: what starts inside one belongs to its ``frame_owner``. What starts inside a row of
    ``node`` belongs to the backward pass of its ``node_owner`` instead. ``told`` holds rows of device work whose
    own record tells ``told_owner``. Where ``counts_calls``, a frame is a call.
    """

    events: Events
    parent: np.ndarray
    label: list[str]
    frame: np.ndarray
    frame_owner: np.ndarray
    frame_backward: np.ndarray
    node: np.ndarray
    node_owner: np.ndarray
    told: np.ndarray
    told_owner: np.ndarray
    told_backward: np.ndarray
    counts_calls: bool

    def __len__(self) -> int:
        return len(self.label)

    @property
    def knows_backward(self) -> bool:
        return bool((self.node_owner != NONE).any() or self.frame_backward.any() or self.told_backward.any())

    def find(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The module of each host row (``NONE`` for none), and whether it runs in the backward pass."""
        at = _inside(self.events, self.frame, rows)
        owner, backward = _pick(self.frame_owner, at), _pick(self.frame_backward, at, False)
        at = _inside(self.events, self.node, rows)
        return np.where(at != NONE, _pick(self.node_owner, at), owner), backward | (at != NONE)

    def find_runs(self, links: Links, calls: Calls) -> tuple[np.ndarray, np.ndarray]:
        """The same for each run of the links: where it was launched, else what its own record tells."""
        cause = np.full(len(links.run), NONE, np.int64)
        launched = links.call_of_run != NONE
        cause[launched] = links.call[links.call_of_run[launched]]
        by_id = ~launched & (calls.of_run != NONE)
        cause[by_id] = calls.rows[calls.of_run[by_id]]
        owner, backward = np.full(len(cause), NONE, np.int64), np.zeros(len(cause), bool)
        known = cause != NONE
        distinct, at = np.unique(cause[known], return_inverse=True)
        of_cause, in_backward = self.find(distinct)
        owner[known], backward[known] = of_cause[at], in_backward[at]
        if len(self.told):
            position = np.full(len(self.events), NONE, np.int64)
            position[self.told] = np.arange(len(self.told))
            at = position[links.run]
            silent = (owner == NONE) & (at != NONE)
            owner[silent], backward[silent] = self.told_owner[at[silent]], self.told_backward[at[silent]]
        return owner, backward

    def path(self, module: int) -> list[str]:
        """The names from the outermost module to this one."""
        names: list[str] = []
        while module != NONE:
            names.append(self.label[module])
            module = int(self.parent[module])
        return names[::-1]


def module_owners(events: Events, autograd: Autograd) -> Owners | None:
    """The modules of a capture; None if it shows none."""
    rows = host_rows(events, Kind.MODULE)
    if len(rows) == 0:
        return _of_scopes(events)
    recomputed = inside(events, autograd.node, rows)
    tree = nest(events, rows[~recomputed])
    chains = paths(tree, events.name[tree.rows].astype(np.int64))
    none = np.empty(0, np.int64)
    node_owner = np.full(len(autograd.node), NONE, np.int64)
    linked = autograd.linked
    node_owner[linked] = _pick(chains.of, _inside(events, tree.rows, autograd.forward[linked]))
    return Owners(
        events=events,
        parent=chains.parent,
        label=[events.names[n].removeprefix(_PREFIX) for n in chains.label.tolist()],
        frame=tree.rows,
        frame_owner=chains.of,
        frame_backward=np.zeros(len(tree.rows), bool),
        node=autograd.node,
        node_owner=node_owner,
        told=none,
        told_owner=none,
        told_backward=none.astype(bool),
        counts_calls=True,
    )


@dataclass(frozen=True, eq=False)
class ModuleTimes:
    """Times of every module by part (``forward_host``, ..., the prefixes of the fields of ``Module``).

    Arrays have one entry a module, and a last one for what belongs to none; ``total_ns`` holds the inner modules too.
    ``of_modules`` and ``of_rest`` tell which parts are known of modules and of the last entry. ``calls`` is None for
    name scopes.
    """

    total_ns: dict[str, np.ndarray]
    self_ns: dict[str, np.ndarray]
    of_modules: dict[str, bool]
    of_rest: dict[str, bool]
    calls: np.ndarray | None

    def entry(self, module: int) -> dict[str, int | None]:
        """The fields of ``Module`` but its path, in their order."""
        is_rest = module == len(self.total_ns["forward_host"]) - 1
        out: dict[str, int | None] = {
            "calls": None if self.calls is None or is_rest else int(self.calls[module]),
        }
        for part, known in (self.of_rest if is_rest else self.of_modules).items():
            out[f"{part}_total_ns"] = int(self.total_ns[part][module]) if known else None
            out[f"{part}_self_ns"] = int(self.self_ns[part][module]) if known else None
        return out


def module_times(
    events: Events, links: Links, calls: Calls, owners: Owners, within: np.ndarray | None = None
) -> ModuleTimes:
    """The times of all modules.

    Args:
        within: mask of the rows that count; device work counts where its launch does, or without one where it does.
    """
    count = len(owners)
    within = np.ones(len(events), bool) if within is None else within
    owner, backward = owners.find_runs(links, calls)
    launched = links.call_of_run != NONE
    cause = links.run.copy()
    cause[launched] = links.call[links.call_of_run[launched]]
    dur = np.where(within[cause], events.dur_ns[links.run], 0)
    tree = nest(events, owners.frame)
    own_ns = np.zeros(len(events), np.int64)
    own_ns[tree.rows] = tree.self_ns(events)
    frame_ns = np.where(within[owners.frame], own_ns[owners.frame], 0)
    node_ns = np.where(within[owners.node], events.dur_ns[owners.node], 0)
    self_ns = {
        "forward_host": _sum(owners.frame_owner, frame_ns, ~owners.frame_backward, count),
        "forward_device": _sum(owner, dur, ~backward, count),
        "backward_host": _sum(owners.frame_owner, frame_ns, owners.frame_backward, count)
        + _sum(owners.node_owner, node_ns, np.ones(len(owners.node), bool), count),
        "backward_device": _sum(owner, dur, backward, count),
    }
    of_modules = {
        "forward_host": True,
        "forward_device": len(dur) > 0,
        "backward_host": owners.knows_backward,
        "backward_device": owners.knows_backward and len(dur) > 0,
    }
    has_nodes = owners.knows_backward or len(owners.node) > 0
    return ModuleTimes(
        total_ns={part: _with_children(values, owners.parent) for part, values in self_ns.items()},
        self_ns=self_ns,
        of_modules=of_modules,
        of_rest={
            **of_modules,
            "forward_host": False,
            "backward_host": has_nodes,
            "backward_device": has_nodes and len(dur) > 0,
        },
        calls=np.bincount(owners.frame_owner[within[owners.frame]], minlength=count) if owners.counts_calls else None,
    )


def modules(events: Events, links: Links, calls: Calls, owners: Owners | None) -> tuple[list[Module], int] | None:
    """The entries with the largest times, and how many modules there are; None where the capture shows none."""
    if owners is None:
        return None
    count = len(owners)
    times = module_times(events, links, calls, owners)
    weight = np.stack(list(times.total_ns.values()))
    order = np.lexsort((-weight[[0, 2]].sum(0), -weight[[1, 3]].sum(0)))[: MAX_MODULES + 1]
    out = [Module(owners.path(i) if i < count else [], **times.entry(i)) for i in order.tolist()]

    def rank(m: Module) -> tuple:
        device = (m.forward_device_total_ns or 0) + (m.backward_device_total_ns or 0)
        host = (m.forward_host_total_ns or 0) + (m.backward_host_total_ns or 0)
        return bool(m.path), -device, -host, m.path

    return sorted(out, key=rank), count


def _of_scopes(events: Events) -> Owners | None:
    scopes = read_scopes(events)
    if scopes is None:
        return None
    none = np.empty(0, np.int64)
    op = events.kind[scopes.rows] == Kind.OP
    return Owners(
        events=events,
        parent=scopes.parent,
        label=scopes.label,
        frame=scopes.rows[op],
        frame_owner=scopes.owner[op],
        frame_backward=scopes.backward[op],
        node=none,
        node_owner=none,
        told=scopes.rows[~op],
        told_owner=scopes.owner[~op],
        told_backward=scopes.backward[~op],
        counts_calls=False,
    )


def _inside(events: Events, slices: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Position in ``slices`` of the innermost one around each row, ``NONE`` without one."""
    position = np.full(len(events) + 1, NONE, np.int64)  # the last answers NONE
    position[slices] = np.arange(len(slices))
    return position[innermost(events, slices, rows)]


def _pick(values: np.ndarray, at: np.ndarray, otherwise: int = NONE) -> np.ndarray:
    """``values[at]``, and ``otherwise`` where ``at`` is ``NONE``."""
    return np.append(values, np.array([otherwise], values.dtype))[at]


def _sum(owner: np.ndarray, values: np.ndarray, chosen: np.ndarray, count: int) -> np.ndarray:
    """Sums of the chosen values by owner; those without one come last."""
    out = np.zeros(count + 1, np.int64)
    np.add.at(out, owner[chosen], values[chosen])  # NONE is the last
    return out


def _with_children(values: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """Values of each module plus those of all modules below it; the last is the whole."""
    out = values.copy()
    for i in range(len(parent) - 1, -1, -1):  # modules, not events
        out[parent[i]] += out[i]  # NONE is the last
    return out
