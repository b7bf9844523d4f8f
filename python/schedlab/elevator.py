"""Schedulers written in Python, for teaching: under the properties of every scheduler, and slow."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Union

from . import _schedlab
from ._schedlab import Disk, Request

_HOOKS = ("insert", "complete", "on_timer", "merged", "coalesced", "exited", "flow")


@dataclass(frozen=True)
class Tunable:
    """A tunable of a scheduler: an attribute of the instance, set before the first request.

    ``default``, ``min`` and ``max`` are whole numbers in ``unit`` (``"ms"``, ``"requests"``, ``"switch"`` for 0 or 1).
    """

    default: int
    min: int = 0
    max: int = 2**31 - 1
    unit: str = "requests"
    help: str = "a tunable of a scheduler in Python"


class Elevator:
    """An I/O scheduler. Extend it with ``dispatch``, and with what else it needs.

    ``self.held`` has the requests that wait, oldest first: a dictionary from tags to :class:`Request`. The queue around it does what the
    kernel's does: it merges what touches, limits the depth and hands out tags; requests that the device returned go first by themselves.
    Times are nanoseconds from the start of the trial, positions are sectors of 512 bytes.

    >>> class Shortest(Elevator):
    ...     '''The smallest request first.'''
    ...     guarantees = ["work-conserving"]
    ...     def dispatch(self, now, disk):
    ...         return min(self.held.values(), key=lambda request: request.nr_sectors)
    >>> broken_properties(Shortest, cases=4)
    []

    To wait on purpose, as anticipation does, return None and set ``self.timer`` to a later time: ``dispatch`` is called again then, and
    whenever a request comes or has completed. ``dispatch`` may be called again at the same time and must not change its answer.

    A trial takes about twenty times as long as with a scheduler of the laboratory: methods of Python are called for each request, and one
    thread at a time calls them.
    """

    #: Its name in plans; that of the class if it is empty.
    name: ClassVar[str] = ""
    #: What the properties hold it to: ``work-conserving``, ``idles-with-timer``, ``arrival-order``, ``meets-feasible-deadlines``,
    #: ``ascending=N``, ``sweeping=N``, ``passed-at-most=N``, ``waits-at-most-ms=N``.
    guarantees: ClassVar[Sequence[str]] = ()
    #: Its tunables by name.
    tunables: ClassVar[Mapping[str, Tunable]] = {}
    #: Whether ``disk.positioning_ns`` is used; no real kernel can ask a disk this.
    uses_disk: ClassVar[bool] = False

    _schedlab_source: ClassVar[str]

    #: Requests that wait, oldest first, by tag; do not change it.
    held: dict[int, Request]
    #: When ``on_timer`` is called, in nanoseconds; None: not.
    timer: int | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Elevator:
        """Gives each instance its tunables."""
        self = super().__new__(cls)
        for key, tunable in cls.tunables.items():
            setattr(self, key, tunable.default)
        return self

    def dispatch(self, now: int, disk: Disk) -> Request | None:
        """The request of ``self.held``, which is not empty, that the device gets now; None: wait."""
        raise NotImplementedError(f"{type(self).__name__}.dispatch: not written; return a request of self.held, or None")

    def insert(self, now: int, request: Request) -> None:
        """A request has come; it is in ``self.held``."""

    def complete(self, now: int, request: Request, issued_ns: int) -> None:
        """The device, which got it at ``issued_ns``, has completed a request."""

    def on_timer(self, now: int) -> None:
        """The timer has expired; ``self.timer`` is None again."""

    def merged(self, now: int, before: Request, after: Request) -> None:
        """A request that waits has grown; ``self.held`` has the new one."""

    def coalesced(self, now: int, survivor: Request, gone: Request) -> None:
        """Two requests that wait became one, which has the place of the older one and grows by a following ``merged``."""

    def exited(self, now: int, process: int) -> None:
        """A client has ended."""

    def flow(self, process: int, flow: int, weight: int | None, rate: int | None, burst: int, latency_ns: int | None) -> None:
        """A client belongs to a flow that is guaranteed this: weight, rate in bytes a second, burst in bytes, latency in nanoseconds."""

    @classmethod
    def scheduler_name(cls) -> str:
        """Its name in plans."""
        return cls.name or cls.__name__

    @classmethod
    def register(cls) -> str:
        """Makes it a scheduler of the simulator in this process; its name. A later class of the same name replaces it.

        :func:`schedlab.run` does this for the classes of a plan; it is needed for plans of text only.
        """
        rows = [
            {"name": key, "unit": tunable.unit, "min": tunable.min, "max": tunable.max, "help": tunable.help}
            for key, tunable in cls.tunables.items()
        ]
        # Kept in the class, so that it is the same in another process, which may have no source of it.
        cls._schedlab_source = _source(cls)
        description = {
            "name": cls.scheduler_name(),
            "help": (cls.__doc__ or "a scheduler in Python").strip().splitlines()[0],
            "source": cls._schedlab_source,
            "guarantees": list(cls.guarantees),
            "tunables": rows,
            "overrides": [hook for hook in _HOOKS if getattr(cls, hook) is not getattr(Elevator, hook)],
            "uses_disk": cls.uses_disk,
        }
        _schedlab.register(cls, json.dumps(description))
        return cls.scheduler_name()


@dataclass(frozen=True)
class BrokenProperty:
    """A property that a scheduler breaks: its name, how, and the smallest input that was found."""

    property: str
    why: str
    smallest: str


def broken_properties(scheduler: Union[str, type[Elevator]], *, cases: int = 64) -> list[BrokenProperty]:
    """Looks for inputs that break a property of schedulers: each request is served once, merges keep every sector, counters agree, what is
    guaranteed is kept, and others. ``cases`` is the number of inputs for each property; they are the same at every call.

    >>> class Loses(Elevator):
    ...     def dispatch(self, now, disk):
    ...         return None
    >>> broken_properties(Loses, cases=4)[0].property
    'served_once_through_the_queue'
    """
    name = scheduler if isinstance(scheduler, str) else scheduler.register()
    return [BrokenProperty(*found) for found in _schedlab.broken_properties(name, cases)]


def schedulers() -> list[dict[str, Any]]:
    """The schedulers of the simulator with origin, source, guarantees and tunables.

    >>> next(row["source"] for row in schedulers() if row["name"] == "noop")
    'Linux 2.6.20 block/noop-iosched.c'
    """
    rows: list[dict[str, Any]] = json.loads(_schedlab.schedulers())
    return rows


def _source(cls: type) -> str:
    """Its whole name, and what tells two versions of it apart: the hash of its source, where there is one."""
    known = cls.__dict__.get("_schedlab_source")
    if isinstance(known, str):
        return known
    try:
        digest = "sha256:" + hashlib.sha256(inspect.getsource(cls).encode()).hexdigest()
    except (OSError, TypeError):
        digest = "without a source"
    return f"{cls.__module__}.{cls.__qualname__}, {digest}"
