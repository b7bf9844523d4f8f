"""Experiments on a cluster of Ray: the same results as on one machine, byte for byte.

``pip install 'schedlab[ray]'`` on every node. Ray starts the processes, moves the bytes and notices what is lost; which trials are wanted,
the comparing and the results are those of one machine.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from . import _schedlab
from .experiment import Experiment, Progress, _Line
from .plan import Plan

#: Seconds of work in a unit: long beside the milliseconds that Ray takes for a call.
UNIT_S = 2.0

#: Units that a worker has at once: one is measured, the other waits.
AHEAD = 2

#: Workers that a node may lose before it is left out.
LOSSES = 3

#: Seconds between two looks for nodes that have joined.
LOOK_S = 5.0

#: The resource of which a machine has one: no two trials of real devices at a time.
MACHINE = "schedlab_machine"

__all__ = ["MACHINE", "run", "run_on_disk", "tune"]


class _Worker:
    """Measures units on one node, with a fixed number of threads."""

    def __init__(self, prepared: str, threads: int, cache_dir: str | None, classes: tuple[Any, ...]) -> None:
        for own in classes:
            own.register()
        self._prepared, self._threads = prepared, threads
        self._cache_dir = Path(cache_dir) if cache_dir else None
        self._program = _program() if json.loads(prepared)["header"]["plan"]["arena"] == "kernel" else None

    def measure(self, units: str) -> tuple[bytes, float]:
        """A segment, and the seconds that it took."""
        began = time.monotonic()
        segment = _schedlab.measure(
            self._prepared, units, workers=self._threads, cache_dir=self._cache_dir, program=self._program
        )
        return segment, time.monotonic() - began


@dataclass
class _Node:
    """A node of the cluster."""

    id: str
    threads: int
    worker: Any = None
    #: What it measures: units in JSON and their trials, by reference.
    out: dict[Any, tuple[str, int]] = field(default_factory=dict)
    #: Trials a second; 0: not known.
    rate: float = 0.0
    lost: int = 0

    def size(self) -> int:
        """Trials of its next unit."""
        return max(self.threads, int(self.rate * UNIT_S))


def run(
    plan: Union[Plan, str, os.PathLike[str]],
    *,
    out: Union[str, os.PathLike[str], None] = None,
    cpus: int | None = None,
    cache_dir: str | None = None,
    progress: Progress = False,
) -> Experiment:
    """Runs a plan of virtual time (arenas ``sim`` and ``kernel``) on all nodes of the cluster that this process is connected to.

    Connect by ``ray.init`` before; without that Ray begins a cluster of this machine. Each node gets one worker that reserves its CPUs,
    or ``cpus`` of them. A worker that is lost is replaced, up to three times a node, and its trials are measured again; nodes may join and
    leave. Comparing goes on meanwhile: with ``out``, the results grows there as trials come back in order, and a report is written at the
    end. ``progress`` is as in :func:`schedlab.run`.

    A plan of the arena ``kernel`` needs the program ``schedlab`` of this version on every node (on the path, or named by the variable
    ``SCHEDLAB_PROGRAM``). Its kernels are built where they are missing, once for each node, or once for all if ``cache_dir`` is a directory
    that the nodes share; a node whose build is another one is refused by name.
    """
    if not isinstance(plan, Plan):
        plan = Plan.read(plan)
    plan._register()
    if not ray.is_initialized():
        ray.init()
    program = _program() if plan.arena == "kernel" else None
    prepared = _schedlab.prepare(
        plan.to_toml(), command="schedlab run plan.toml", cache_dir=Path(cache_dir) if cache_dir else None, program=program
    )
    with tempfile.TemporaryDirectory(prefix="schedlab-") as scratch:
        experiment = _schedlab.Distributed(prepared, Path(out) if out is not None else Path(scratch) / "out")
        _measured(experiment, cpus, (prepared, cache_dir, plan._classes), progress)
        return Experiment(experiment.finish())


def tune(
    options: Sequence[str],
    out: Union[str, os.PathLike[str]],
    *,
    cpus: int | None = None,
    cache_dir: str | None = None,
    progress: Progress = False,
) -> dict[str, Any]:
    """Searches as ``schedlab tune`` with these options does, the candidates of a round side by side on all nodes of the cluster.

    ``options`` are the command's words, e.g. ``["--arena", "sim", "--device", "hp97560", "--workload", "oltp"]``; only the arenas of
    virtual time can be distributed. When the search has ended, the program of this machine confirms its winner on fresh rounds and prunes
    it, which takes a few dozen trials. The files in ``out`` are those of one machine; the result is what tune.json holds.
    """
    program, words, out = _program(), [str(word) for word in options], Path(out)
    if out.exists():
        raise _schedlab.PlanError(f"{out}: exists; name another directory, or continue a search by the command: schedlab tune … --resume")
    told = json.loads(_told([str(program), "tune", *words, "--dry-run", "--json"]))
    if "commission" not in told:
        raise _schedlab.PlanError("tune: a search on a machine is measured by that machine; add --arena sim or --arena kernel to the options")
    commission = json.dumps(told["commission"])
    if not ray.is_initialized():
        ray.init()
    cache = Path(cache_dir) if cache_dir else None
    command = shlex.join(["schedlab", "tune", *words])
    prepared = _schedlab.prepare_search(commission, command=command, cache_dir=cache, program=program)
    search = _schedlab.Distributed.search(prepared, commission, out)
    _measured(search, cpus, (prepared, cache_dir, ()), progress)
    search.finish_search()
    _told([str(program), "tune", *words, "--out", str(out), "--resume", "--quiet"])
    found: dict[str, Any] = json.loads((out / "tune.json").read_text(encoding="utf-8"))
    return found


def _told(words: list[str]) -> str:
    """What a program prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise _schedlab.ExperimentError(f"schedlab tune: ended with status {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _measured(
    experiment: _schedlab.Distributed, cpus: int | None, told: tuple[str, str | None, tuple[Any, ...]], progress: Progress
) -> None:
    """Has the trials of an experiment or search measured by the cluster until it has ended."""
    shown = _Line() if progress is True else progress or None
    cluster = _Cluster(experiment, cpus, told)
    try:
        cluster.work(shown)
    except BaseException:
        experiment.abandon()
        raise
    finally:
        cluster.close()
        if isinstance(shown, _Line):
            shown.clear()


class _Cluster:
    """The nodes, what each measures, and the experiment that it is for."""

    def __init__(self, experiment: _schedlab.Distributed, cpus: int | None, told: tuple[str, str | None, tuple[Any, ...]]) -> None:
        self._experiment, self._cpus, self._told = experiment, cpus, told
        self._nodes: dict[str, _Node] = {}
        self._left_out: set[str] = set()
        self._looked = 0.0
        self._began = time.monotonic()

    def work(self, shown: Callable[[Any], None] | None) -> None:
        """Until the experiment has ended."""
        while not self._experiment.is_done():
            self._look()
            self._hand_out()
            out = [reference for node in self._nodes.values() for reference in node.out]
            if out:
                # No more than is measured and waits is ever handed out: what comes back is taken in before.
                done, _ = ray.wait(out, num_returns=1, timeout=0.2)
                for reference in done:
                    self._take_in(reference)
            else:
                self._experiment.wait(0.2)
            if shown is not None:
                shown(self._step())

    def close(self) -> None:
        """Ends the workers, with what is measured and not needed."""
        for node in self._nodes.values():
            if node.worker is not None:
                ray.kill(node.worker)
        self._nodes.clear()

    def _look(self) -> None:
        """Looks which nodes there are."""
        if time.monotonic() - self._looked < LOOK_S and self._nodes:
            return
        self._looked = time.monotonic()
        alive = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]}
        for name, cpus in alive.items():
            threads = cpus if self._cpus is None else min(cpus, self._cpus)
            if threads > 0 and name not in self._nodes and name not in self._left_out:
                self._nodes[name] = _Node(name, threads)
        for name in [name for name in self._nodes if name not in alive]:
            self._lose(self._nodes.pop(name))
        if not self._nodes:
            raise _schedlab.ExperimentError(
                "ray: no node can measure (none has a free CPU, or each has lost its workers); look at the nodes with: ray status"
            )

    def _hand_out(self) -> None:
        """Gives every worker what it can take."""
        for node in self._nodes.values():
            while len(node.out) < (AHEAD if node.rate else 1):
                units, trials = self._experiment.take(node.size())
                if trials == 0:
                    return
                if node.worker is None:
                    node.worker = self._begin(node)
                node.out[node.worker.measure.remote(units)] = (units, trials)

    def _begin(self, node: _Node) -> Any:
        prepared, cache_dir, classes = self._told
        where = NodeAffinitySchedulingStrategy(node.id, soft=False)
        actor = ray.remote(_Worker).options(num_cpus=node.threads, scheduling_strategy=where, max_restarts=0)
        return actor.remote(prepared, node.threads, cache_dir, classes)

    def _take_in(self, reference: Any) -> None:
        node = next(node for node in self._nodes.values() if reference in node.out)
        units, trials = node.out[reference]
        try:
            segment, seconds = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            # What the plan or the node is wrong with is no loss: another attempt would find the same.
            raise error.as_instanceof_cause() from None
        except ray.exceptions.RayError:
            self._lose(node)
            node.lost += 1
            if node.lost > LOSSES:
                self._left_out.add(node.id)
                del self._nodes[node.id]
            return
        del node.out[reference]
        self._experiment.put(f"segment of node {node.id[:8]}", segment)
        node.rate = trials / max(seconds, 1e-6)

    def _lose(self, node: _Node) -> None:
        """A worker is gone: what it had is wanted again."""
        for units, _ in node.out.values():
            self._experiment.give_back(units)
        node.out.clear()
        if node.worker is not None:
            ray.kill(node.worker)
        node.worker = None

    def _step(self) -> dict[str, Any]:
        step = self._experiment.status()
        elapsed = time.monotonic() - self._began
        share = step["share"]
        left = elapsed * (1 - share) / share if share > 0 else None
        return {**step, "elapsed_s": elapsed, "simulated": False, "left_s": left}


def run_on_disk(
    plan: Union[Plan, str, os.PathLike[str]],
    disk: str,
    *,
    destroy_data: bool = False,
    timeout_s: float | None = None,
) -> Experiment:
    """Runs a plan of the arenas ``disk`` or ``cpu`` on the node that has the resource ``disk``, as ``schedlab run`` does there.

    Start such a node by ``ray start --resources='{"schedlab_machine": 1, "DISK": 1}'``, as the user who may measure it. The call takes
    both: one experiment a machine at a time, and one a disk. Further calls wait in Ray's queue.
    """
    if not isinstance(plan, Plan):
        plan = Plan.read(plan)
    if plan.arena in ("sim", "kernel"):
        raise _schedlab.PlanError(f"plan: its arena is {plan.arena}, which needs no disk; use schedlab.ray.run")
    if not ray.is_initialized():
        ray.init()
    known = {name for node in ray.nodes() if node["Alive"] for name in node["Resources"]}
    for name in (disk, MACHINE):
        if name not in known:
            raise _schedlab.PlanError(
                f"disk {disk!r}: no node has the resource {name!r}; start one by ray start --resources="
                f"{json.dumps({MACHINE: 1, disk: 1})!r}"
            )
    task = ray.remote(_on_disk).options(num_cpus=0, resources={disk: 1, MACHINE: 1}, max_retries=0)
    return Experiment.from_bytes(ray.get(task.remote(plan.to_toml(), destroy_data), timeout=timeout_s))


def _on_disk(plan: str, destroy_data: bool) -> bytes:
    """The results of a plan that the program of this node runs."""
    with tempfile.TemporaryDirectory(prefix="schedlab-") as scratch:
        path, out = Path(scratch) / "plan.toml", Path(scratch) / "out"
        path.write_text(plan, encoding="utf-8")
        words = [str(_program()), "run", str(path), "--out", str(out), "--quiet"]
        if destroy_data:
            words += ["--destroy-data", str(Plan.from_toml(plan).to_dict()["device"])]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        results = out / "results.jsonl"
        if not results.exists():
            raise _schedlab.ExperimentError(f"schedlab run: ended with status {done.returncode}: {done.stderr.strip()[-2000:]}")
        return results.read_bytes()


def _program() -> Path:
    """The program schedlab of this build."""
    # An empty or relative element of PATH would be the current directory.
    directories = [directory for directory in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(directory)]
    named = os.environ.get("SCHEDLAB_PROGRAM") or shutil.which("schedlab", path=os.pathsep.join(directories))
    if named is None:
        raise _schedlab.ExperimentError("schedlab: no such program on the path; install it, or name it by SCHEDLAB_PROGRAM")
    said = subprocess.run([named, "--version", "--json"], capture_output=True, text=True, check=False).stdout
    try:
        found = json.loads(said)["build"]
    except (ValueError, KeyError, TypeError):
        found = "an unknown build"
    if found != _schedlab.__build__:
        raise _schedlab.ExperimentError(
            f"{named}: another build than this package's (found {found}, expected {_schedlab.__build__}); install the same"
        )
    return Path(named).resolve()
