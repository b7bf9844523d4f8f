"""Experiments: run, read, compared, shown."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _schedlab
from .plan import Plan

if TYPE_CHECKING:
    import pandas
    import polars

Progress = Union[bool, Callable[[Mapping[str, Any]], None]]


def run(
    plan: Union[Plan, str, os.PathLike[str]],
    *,
    workers: int | None = None,
    out: Union[str, os.PathLike[str], None] = None,
    progress: Progress = False,
) -> Experiment:
    """Runs an experiment of the arena ``sim``.

    ``plan`` is a :class:`Plan`, or the path of a plan.toml. ``workers`` is the number of threads, one for each CPU if not given; no figure
    depends on it. With ``out`` the results and its report are written into that directory, as ``schedlab run --out`` does; without it
    everything is in memory. The interpreter's lock is released, and Ctrl-C ends the experiment.

    ``progress=True`` shows a line on standard error. A function is called several times a second with a dictionary: ``share`` (0 to 1),
    ``elapsed_s`` (seconds by the arena's clock), ``left_s`` (seconds for you, or None), ``workload``, ``variant``, ``round``, ``standing``.

    >>> plan = Plan(device="null", variants=["none", "kyber"], workloads=["randread"], rounds=6, duration_ms=5, warmup_ms=1)
    >>> experiment = run(plan, workers=2)
    >>> len(experiment)
    12
    >>> run(plan, workers=1).to_bytes() == experiment.to_bytes()
    True
    """
    if not isinstance(plan, Plan):
        plan = Plan.read(plan)
    plan._register()
    if plan.arena != "sim":
        plan_file = "plan.toml"
        raise _schedlab.PlanError(
            f"plan: its arena is {plan.arena}, which the program measures (expected sim); save it by plan.save({plan_file!r}), run "
            f"schedlab run {plan_file} --out DIR, then schedlab.read(DIR); or use schedlab.ray.run"
        )
    shown = _Line() if progress is True else progress or None
    found = _schedlab.run(plan.to_toml(), workers=workers, out=None if out is None else Path(out), watch=shown)
    if isinstance(shown, _Line):
        shown.clear()
    return Experiment(found)


def read(path: Union[str, os.PathLike[str]]) -> Experiment:
    """Reads the results of an experiment: the directory that ``--out`` named, or its results.jsonl. Of every arena.

    >>> read("/nowhere")
    Traceback (most recent call last):
    ...
    schedlab.PlanError: /nowhere: cannot read ...
    """
    return Experiment(_schedlab.read_results(Path(path)))


class Experiment:
    """What an experiment observed: a results, whole or cut off.

    >>> plan = Plan(device="null", variants=["none", "kyber"], workloads=["randread"], rounds=6, duration_ms=5, warmup_ms=1)
    >>> experiment = run(plan)
    >>> experiment.ended
    'rounds-measured'
    >>> experiment.trials().columns[:5]
    ['sequence', 'workload', 'round', 'position', 'variant']
    """

    def __init__(self, results: _schedlab.Results) -> None:
        self._results = results

    @classmethod
    def from_bytes(cls, text: bytes) -> Experiment:
        """Reads the text of a results.jsonl."""
        return cls(_schedlab.Results.from_bytes(text))

    def to_bytes(self) -> bytes:
        """The text of results.jsonl."""
        return self._results.to_bytes()

    @property
    def plan(self) -> Plan:
        """The plan that was measured, defaults filled in."""
        return Plan.from_toml(self._results.plan)

    @property
    def environment(self) -> dict[str, dict[str, str]]:
        """Facts about the machine, by section and name."""
        facts: dict[str, dict[str, str]] = json.loads(self._results.environment)
        return facts

    @property
    def ended(self) -> str | None:
        """Why it ended, in a word; None: it was cut off."""
        return self._results.ended

    @property
    def messages(self) -> list[str]:
        """What was said while it was measured."""
        return self._results.messages

    @property
    def measured_s(self) -> float | None:
        """Seconds that measuring took; None: it was read."""
        return self._results.measured_s

    def trials(self) -> Table:
        """A row for each trial, invalid ones included (``invalid`` has the reasons).

        The other columns are metrics and counters; units are in their names: ``throughput_mb_per_s``, ``latency_p99_us``. A counter that is
        called as a metric has ``counter_`` before its name.
        """
        return Table(self._results.trials())

    def latencies(self) -> Table:
        """Latency percentiles: a row for each trial, kind of request (``op``) and percentile (0 to 100); latencies in nanoseconds."""
        return Table(self._results.latencies())

    def analyze(self, *, margin: float | str | None = None, alpha: float | str | None = None, method: str | None = None) -> Analysis:
        """Compares it: by the criteria of its plan, or by others.

        ``margin`` and ``alpha`` are shares (0.02) or percentages (``"2%"``); ``method`` is ``spending``, ``anytime``, ``fixed`` or
        ``three-sigma``. What was seen before a criterion was chosen is no evidence under it; a caution of the analysis says so.
        """
        return Analysis(self._results.analyze(margin=_percent(margin), alpha=_percent(alpha), method=method))

    def __len__(self) -> int:
        """The number of trials."""
        return len(self._results)

    def __repr__(self) -> str:
        return f"<schedlab.Experiment of {len(self)} trials, {self.ended or 'cut off'}>"


class Analysis:
    """What is concluded from an experiment.

    >>> plan = Plan(device="null", variants=["none", "kyber"], workloads=["randread"], rounds=6, duration_ms=5, warmup_ms=1)
    >>> analysis = run(plan).analyze()
    >>> analysis.to_dict()["arena"]
    'sim'
    >>> analysis.plot("effects").svg.startswith("<svg")
    True
    """

    def __init__(self, analysis: _schedlab.Analysis) -> None:
        self._analysis = analysis

    @property
    def variant(self) -> str | None:
        """The variant to use for everything that was measured; None: the workloads disagree, or the evidence is invalid."""
        return self._analysis.variant

    @property
    def sentence(self) -> str:
        """The recommendation in one sentence: the gain, what becomes worse, and where it was measured."""
        return self._analysis.sentence

    @property
    def cautions(self) -> list[str]:
        """What a reader must know before believing any of it."""
        return self._analysis.cautions

    def comparisons(self) -> Table:
        """A row for each workload, metric and variant other than the baseline; deciding metrics (``primary``) first.

        ``ratio`` is variant / baseline with its interval ``low`` to ``high`` at ``confidence``; ``variant_mean`` and ``baseline_mean`` are
        geometric means in the metric's unit; ``verdict`` is ``better``, ``worse``, ``equivalent``, ``inconclusive`` or ``invalid``.
        """
        return Table(self._analysis.comparisons())

    def summaries(self) -> Table:
        """A row for each workload, metric and variant: mean, standard deviation and others, in the metric's unit."""
        return Table(self._analysis.summaries())

    def figures(self) -> list[Figure]:
        """The plots of the report, of deciding metrics."""
        return [Figure(figure) for figure in self._analysis.figures()]

    def plot(self, kind: str = "effects", *, workload: str | None = None, of: str | None = None) -> Figure:
        """One plot of the report; a notebook shows it.

        ``kind`` is ``effects``, ``distribution``, ``timeline``, ``latency`` (``of``: ``all``, ``read`` or ``write``) or ``response``
        (``of``: a tunable of a sweep). Without ``workload`` it is the first one's.
        """
        figures = self.figures()
        for figure in figures:
            if figure.kind == kind and workload in (None, figure.workload) and of in (None, figure.of):
                return figure
        known = sorted({f"{figure.kind} of {figure.workload}" for figure in figures})
        raise _schedlab.PlanError(f"plot: no {kind} of {workload or 'any workload'} (expected one of {', '.join(known)})")

    def to_json(self) -> str:
        """The text of analysis.json, as ``schedlab run --out`` writes it."""
        return self._analysis.to_json()

    def to_dict(self) -> dict[str, Any]:
        """analysis.json as a dictionary."""
        table: dict[str, Any] = json.loads(self.to_json())
        return table

    def report(self, *, verbose: bool = False, width: int | None = None) -> str:
        """The report as the program prints it. ``width`` is in characters, the terminal's if not given."""
        return self._analysis.report(verbose=verbose, width=width or shutil.get_terminal_size((100, 24)).columns)

    def save(self, directory: Union[str, os.PathLike[str]]) -> list[Path]:
        """Writes analysis.json, report.html, report.md and the tables as CSV into a directory; returns their paths."""
        return [Path(path) for path in self._analysis.save(Path(directory))]

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        return f"<schedlab.Analysis: {self.sentence}>"


class Table:
    """Columns of one length, which pandas, polars, pyarrow and DuckDB take as they are (Arrow's PyCapsule interface).

    >>> plan = Plan(device="null", variants=["none", "kyber"], workloads=["randread"], rounds=6, duration_ms=5, warmup_ms=1)
    >>> table = run(plan).trials()
    >>> len(table), table.to_dict()["round"]
    (12, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    """

    def __init__(self, table: _schedlab.Table) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._table.columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._table)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists; what is not known is None."""
        return self._table.to_dict()

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries."""
        columns = self.to_dict()
        return (dict(zip(columns, row)) for row in zip(*columns.values()))

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame: through pyarrow where that is installed, else column by column."""
        import pandas

        try:
            import pyarrow
        except ImportError:
            return pandas.DataFrame(self.to_dict())
        frame: pandas.DataFrame = pyarrow.table(self).to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A polars frame, without a copy."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<schedlab.Table of {len(self)} rows: {', '.join(self.columns)}>"


class Figure:
    """A plot of a report, as SVG."""

    def __init__(self, figure: _schedlab.Figure) -> None:
        self._figure = figure

    @property
    def kind(self) -> str:
        """``effects``, ``distribution``, ``timeline``, ``latency`` or ``response``."""
        return self._figure.kind

    @property
    def workload(self) -> str:
        """The workload's name."""
        return self._figure.workload

    @property
    def metric(self) -> str:
        """The metric that decides for it."""
        return self._figure.metric

    @property
    def of(self) -> str:
        """Of latency ``all``, ``read`` or ``write``; of a response the tunable; else empty."""
        return self._figure.of

    @property
    def label(self) -> str:
        """What it shows, in words."""
        return self._figure.label

    @property
    def svg(self) -> str:
        """The text of an SVG file."""
        return self._figure.svg

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<schedlab.Figure {self.label}>"


class _Line:
    """A line on standard error that is written again and again."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, step: Mapping[str, Any]) -> None:
        left = "" if step["left_s"] is None else f" · {_span(step['left_s'])} left"
        standing = f" · {step['standing']}" if step["standing"] else ""
        text = f"{step['share']:4.0%} · {step['workload']} · {step['variant']}{left}{standing}"
        text = "".join(one if one.isprintable() else "?" for one in text)[: shutil.get_terminal_size((100, 24)).columns - 1]
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()
        self._width = len(text)

    def clear(self) -> None:
        """Removes the line."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


def _span(seconds: float) -> str:
    """Seconds as a span of time."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _percent(share: float | str | None) -> str | None:
    return share if share is None or isinstance(share, str) else f"{100 * share!r}%"
