"""Plans: what is compared, on what work, for how long, and what counts as a difference."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _schedlab

if TYPE_CHECKING:
    from .elevator import Elevator

Value = Union[str, int, float, bool]


@dataclass(frozen=True)
class Variant:
    """A setting under comparison: a scheduler with tunables.

    ``scheduler`` is a name of :func:`schedlab.schedulers`, or a class that extends :class:`schedlab.Elevator`. Tunables keep the units of
    their scheduler. Without a name of its own a variant is called as the command line writes it.

    >>> Variant("bfq", {"low_latency": 0}).name
    'bfq:low_latency=0'
    """

    scheduler: Union[str, type[Elevator]]
    tunables: Mapping[str, Value] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", _written(_scheduler_name(self.scheduler), self.tunables))


@dataclass(frozen=True)
class Workload:
    """What the clients do: a row of the workload table with parameters, and the metric that decides (``primary``).

    Without a name of its own a workload is called as the command line writes it. Sizes and times are written with their units, as in plan.toml: ``"16k"``, ``"100us"``.

    >>> Workload("randread", {"clients": 4, "block_size": "4k"}, primary="latency_p99_us").name
    'randread:clients=4:block_size=4k'
    """

    kind: str
    params: Mapping[str, Value] = field(default_factory=dict)
    name: str = ""
    primary: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", _written(self.kind, self.params))


class Plan:
    """An experiment, as plan.toml has it; immutable.

    ``device``
        a model of ``schedlab list devices`` (``"cheetah9lp"``, ``"nvme:queues=4"``), or a TOML file that describes one.
    ``variants``, ``workloads``
        objects, or words as on the command line: ``"bfq:slice_idle=0"``, ``"randread:clients=4"``; a variant may be a class that extends
        :class:`schedlab.Elevator`.
    ``baseline``
        the name of the variant that the others are compared with; the first one if not given.
    ``rounds``
        rounds of each workload: a round has every undecided variant once. Not given: until every verdict is reached.
    ``time_s``
        budget in seconds, of virtual time in the simulator.
    ``duration_ms``, ``warmup_ms``
        length of a trial, and of what comes before it, in milliseconds; by the device if not given.
    ``margin``
        what counts as equal, as a share: 0.01 is 1 %.
    ``alpha``
        the error that all verdicts of a metric may have together: 0.05 is 5 %.
    ``method``
        ``spending``, ``anytime``, ``fixed`` or ``three-sigma``.

    >>> plan = Plan(device="hp97560", variants=["look", Variant("sstf")], workloads=[Workload("randread", {"clients": 8})], rounds=6)
    >>> plan.to_dict()["budget"]["rounds"]
    6
    >>> Plan.from_toml(plan.to_toml()) == plan
    True
    >>> Plan(device="hp97560", variants=["look", "sstf"], workloads=["randraed"]).completed()
    Traceback (most recent call last):
    ...
    schedlab.PlanError: workload randraed: unknown kind ...
    """

    def __init__(
        self,
        *,
        device: str,
        variants: Iterable[Union[str, Variant, type[Elevator]]],
        workloads: Iterable[Union[str, Workload]],
        arena: str = "sim",
        name: str = "",
        seed: int = 1,
        baseline: str | None = None,
        rounds: int | None = None,
        time_s: float | None = None,
        duration_ms: int | None = None,
        warmup_ms: int | None = None,
        margin: float | None = None,
        alpha: float | None = None,
        method: str | None = None,
        kernel: str | None = None,
    ) -> None:
        variants, workloads = list(variants), list(workloads)
        table = {
            "arena": arena,
            "device": device,
            "name": name,
            "seed": seed,
            "baseline": baseline,
            "kernel": kernel,
            "budget": {"rounds": rounds, "time_s": None if time_s is None else float(time_s)},
            "trial": {"duration_ms": duration_ms, "warmup_ms": warmup_ms},
            "criteria": {"margin": margin, "alpha": alpha, "method": method},
            "variants": [_variant(variant) for variant in variants],
            "workloads": [_workload(workload) for workload in workloads],
        }
        self._toml = _schedlab.plan_of_json(json.dumps(table))
        self._classes = _classes(variants)

    @classmethod
    def from_toml(cls, text: str) -> Plan:
        """Reads the text of a plan.toml."""
        return cls._of(text, None)

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]]) -> Plan:
        """Reads a plan.toml; files that it names are looked for here, then beside it."""
        path = Path(path)
        return cls._of(path.read_text(encoding="utf-8"), path.parent)

    @classmethod
    def _of(cls, text: str, beside: Path | None) -> Plan:
        plan = cls.__new__(cls)
        plan._toml = _schedlab.read_plan(text, beside)
        plan._classes = ()
        return plan

    def to_toml(self) -> str:
        """The text of plan.toml, defaults filled in."""
        return self._toml

    def to_dict(self) -> dict[str, Any]:
        """The keys of plan.toml as a dictionary; a copy."""
        table: dict[str, Any] = json.loads(_schedlab.plan_as_json(self._toml))
        return table

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes plan.toml, which ``schedlab run`` takes."""
        Path(path).write_text(self._toml, encoding="utf-8")

    def completed(self) -> Plan:
        """The plan that is measured: checked against what there is, with everything filled in.

        >>> plan = Plan(device="cheetah9lp", variants=["none", "bfq"], workloads=["randread"], rounds=3)
        >>> plan.completed().to_dict()["trial"]["duration_ms"] > 0
        True
        """
        self._register()
        plan = Plan.__new__(Plan)
        plan._toml, _ = _schedlab.complete_plan(self._toml)
        plan._classes = self._classes
        return plan

    @property
    def arena(self) -> str:
        """``sim``, ``kernel``, ``disk`` or ``cpu``."""
        return str(self.to_dict()["arena"])

    @property
    def variants(self) -> list[str]:
        """The names of the variants."""
        return [variant["name"] for variant in self.to_dict()["variant"]]

    @property
    def workloads(self) -> list[str]:
        """The names of the workloads."""
        return [workload["name"] for workload in self.to_dict()["workload"]]

    def _register(self) -> None:
        for own in self._classes:
            own.register()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._toml == other._toml

    def __hash__(self) -> int:
        return hash(self._toml)

    def __repr__(self) -> str:
        return f"<schedlab.Plan of {len(self.variants)} variants on {len(self.workloads)} workloads>"

    _toml: str
    _classes: tuple[type[Elevator], ...]


def _scheduler_name(scheduler: Union[str, type[Elevator]]) -> str:
    return scheduler if isinstance(scheduler, str) else scheduler.scheduler_name()


def _variant(variant: Union[str, Variant, type[Elevator]]) -> Union[str, dict[str, Any]]:
    if isinstance(variant, str):
        return variant
    if not isinstance(variant, Variant):
        variant = Variant(variant)
    return {"name": variant.name, "scheduler": _scheduler_name(variant.scheduler), "tunables": dict(variant.tunables)}


def _workload(workload: Union[str, Workload]) -> Union[str, dict[str, Any]]:
    if isinstance(workload, str):
        return workload
    params = {key: _word(value) for key, value in workload.params.items()}
    return {"name": workload.name, "kind": workload.kind, "params": params, "primary": workload.primary}


def _classes(variants: Iterable[Union[str, Variant, type[Elevator]]]) -> tuple[type[Elevator], ...]:
    schedulers = (variant.scheduler if isinstance(variant, Variant) else variant for variant in variants)
    return tuple(dict.fromkeys(one for one in schedulers if not isinstance(one, str)))


def _written(head: str, pairs: Mapping[str, Value]) -> str:
    """As the command line writes it."""
    return head + "".join(f":{key}={_word(value)}" for key, value in pairs.items())


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
