"""What a rule says: what is slow, how sure that is, what to do, and what that would gain at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

#: From the least to the most severe.
SEVERITIES = ("info", "warning", "critical")
CONFIDENCES = ("low", "medium", "high")


@dataclass(frozen=True)
class Gain:
    """Time that a fix saves at most.

    Metrics:
        ns_per_step: that much of a mean step; null where no step is known
        ratio: the share of the step time, or of the capture where no step is known
        formula: how it was reckoned
    """

    ns_per_step: int | None
    ratio: float
    formula: str


@dataclass(frozen=True)
class Place:
    """Where the evidence can be looked at.

    Metrics:
        what: step, or the kind of a named thing: kernel, operator, annotation, call
        name: the step's label or the thing's name
        start_ns: where the step begins; null for a named thing
        duration_ns: how long the step takes; null for a named thing
    """

    what: str
    name: str
    start_ns: int | None = None
    duration_ns: int | None = None


@dataclass(frozen=True)
class Finding:
    """One thing that a rule found.

    Metrics:
        rule: the rule's name
        severity: critical, warning or info
        message: what is slow, by how much, and why, in one sentence
        evidence: the numbers that the rule looked at, named with their units
        fix: what to do, the likeliest first
        gain: what that saves at most; null where it cannot be told
        places: where to look, the best place first
        counter_evidence: what speaks against the finding
        confidence: high, medium or low; lowered by counter evidence and by data quality notes
        weakened_by: codes of the notes that weaken the numbers of the evidence
        workers: names of the workers that it was found on; empty where it is about the run
        more_workers: workers beyond those listed
    """

    rule: str
    severity: str
    message: str
    evidence: Mapping[str, Any]
    fix: Sequence[str]
    gain: Gain | None = None
    places: Sequence[Place] = ()
    counter_evidence: Sequence[str] = ()
    confidence: str = "high"
    weakened_by: Sequence[str] = ()
    workers: Sequence[str] = ()
    more_workers: int = 0
    #: Topics of ``analysis.trust`` that the numbers belong to; not in the contract.
    rests_on: Sequence[str] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """As the contract has it."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        del plain["rests_on"]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Finding:
        """What ``to_dict`` gave."""
        gain, places = plain["gain"], plain["places"]
        return cls(**{**plain, "gain": gain and Gain(**gain), "places": [Place(**place) for place in places]})


def severity(ratio: float, warning: float, critical: float) -> str:
    """Critical from one threshold, a warning from the other, else info."""
    return SEVERITIES[(ratio >= warning) + (ratio >= critical)]
