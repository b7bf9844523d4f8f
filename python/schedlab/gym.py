"""Scheduling as a learning problem: an environment of Gymnasium, one decision of a scheduler a step.

``pip install 'schedlab[gym]'``. The disk, the queue and the clients are the simulator's; what a policy learns here is a policy for the
model, and no guarantee for a real disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

import gymnasium
import numpy
from numpy.typing import NDArray

from . import _schedlab
from .elevator import Elevator
from .plan import Variant, Plan, Workload

#: What the first row of an observation has: a one; requests that wait; requests in the device; milliseconds since the last dispatch;
#: whether a wait has ended by its time; whether the last request was a read; its end, as a share of the disk.
QUEUE = ("one", "held", "in_device", "since_dispatch_ms", "wait_expired", "last_was_read", "position")

#: What every other row has, oldest request first, zeros where there is none: a one; distance from the last request's end as a share of the
#: disk, negative downwards; whether it continues that request; size in MiB; age in milliseconds; whether it is a read; whether it is of
#: the last request's client.
CANDIDATE = ("one", "distance", "continues", "size_mib", "age_ms", "is_read", "same_client")

Observation = NDArray[numpy.float32]
Policy = Callable[[Observation, Mapping[str, Any]], int]


class SchedulingEnv(gymnasium.Env[Observation, numpy.int64]):
    """A simulated disk whose scheduler is the agent.

    A step is one decision: the device can take a request, and some wait. Action ``i`` dispatches the ``i``-th oldest of them; the last
    action, ``candidates``, waits for ``wait_us`` microseconds or until another request comes. A number without a request is taken as 0;
    ``info["action_mask"]`` says which have one.

    The reward is MiB that completed since the step before (``objective="throughput"``), or the negative of the seconds that requests spent
    waiting or in the device meanwhile (``"latency"``: their sum, so three open requests for a second are -3). An episode is a trial:
    ``warmup_ms`` and ``duration_ms`` of virtual time, then it is truncated, and ``info["metrics"]`` has the metrics of the window as every
    results has them. The seed decides all that the clients choose; without one, seeds count up.

    >>> env = SchedulingEnv(duration_ms=300, warmup_ms=100)
    >>> observation, info = env.reset(seed=1)
    >>> env.observation_space.contains(observation), int(info["action_mask"].sum())
    (True, 2)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> terminated, truncated
    (False, False)
    >>> env.close()
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        device: str = "cheetah9lp",
        workload: Union[str, Workload] = "think-mix:clients=2:block_size=16k:file_size=600M:think_time=100us",
        *,
        candidates: int = 16,
        wait_us: int = 2000,
        duration_ms: int = 5000,
        warmup_ms: int = 1000,
        objective: str = "throughput",
        baselines: Iterable[Union[str, Variant, type[Elevator]]] = ("fcfs", "anticipatory"),
    ) -> None:
        if objective not in ("throughput", "latency"):
            raise _schedlab.PlanError(f"objective: unknown (found {objective!r}, expected throughput or latency)")
        self.plan = Plan(
            device=device, variants=["agent", *baselines], workloads=[workload], rounds=1, duration_ms=duration_ms, warmup_ms=warmup_ms,
            method="fixed",
        )
        self.plan._register()
        self.objective = objective
        self.candidates = candidates
        self._trial = _schedlab.Decisions(self.plan.to_toml(), 0, candidates, wait_us)
        self._seed = 0
        self._before: tuple[int, float] = (0, 0.0)
        self._shape = (1 + candidates, _schedlab.Decisions.FEATURES)
        self.observation_space = gymnasium.spaces.Box(-numpy.inf, numpy.inf, self._shape, numpy.float32)
        self.action_space = gymnasium.spaces.Discrete(candidates + 1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begins a trial; see :class:`SchedulingEnv`."""
        super().reset(seed=seed)
        self._seed = self._seed + 1 if seed is None else seed
        self._before = (0, 0.0)
        state = self._trial.begin(0, self._seed)
        if state is None:
            raise _schedlab.ExperimentError("environment: no decision in a whole trial; choose a workload that reaches the device")
        return self._seen(state)

    def step(self, action: Union[int, numpy.integer[Any]]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Decides; see :class:`SchedulingEnv`."""
        choice = int(action)
        state = self._trial.answer(None if choice == self.candidates else choice)
        if state is not None:
            reward = self._reward(state[3], state[4])
            observation, info = self._seen(state)
            return observation, reward, False, False, info
        ended = self._trial.end()
        metrics = json.loads(ended)["metrics"] if ended else {}
        mask = numpy.zeros(self.candidates + 1, dtype=numpy.int8)
        return numpy.zeros(self._shape, numpy.float32), 0.0, False, True, {"metrics": metrics, "action_mask": mask}

    def observe(self, variant: int, *, seed: int) -> dict[str, float]:
        """The metrics of the same trial under ``baselines[variant]``."""
        metrics: dict[str, float] = json.loads(self._trial.observe(variant + 1, seed))["metrics"]
        return metrics

    def close(self) -> None:
        """Ends a trial that is running."""
        self._trial.end()

    def _seen(self, state: _schedlab._State) -> tuple[Observation, dict[str, Any]]:
        now_ns, numbers, candidates, _, _ = state
        observation = numpy.frombuffer(numbers, dtype=numpy.float32).reshape(self._shape)
        mask = numpy.zeros(self.candidates + 1, dtype=numpy.int8)
        mask[:candidates] = 1
        mask[self.candidates] = 1
        return observation, {"action_mask": mask, "now_ns": now_ns}

    def _reward(self, done_bytes: int, open_s: float) -> float:
        before, self._before = self._before, (done_bytes, open_s)
        return (done_bytes - before[0]) / 2**20 if self.objective == "throughput" else before[1] - open_s


def oldest(observation: Observation, info: Mapping[str, Any]) -> int:
    """First come, first served."""
    return 0


def nearest(observation: Observation, info: Mapping[str, Any]) -> int:
    """Shortest distance first."""
    held = observation[1:][observation[1:, 0] > 0]
    return int(numpy.abs(held[:, 1]).argmin())


def anticipate(observation: Observation, info: Mapping[str, Any]) -> int:
    """What continues the last request, then what is of its client; after a read it waits for that once, then takes the nearest."""
    held = observation[1:][observation[1:, 0] > 0]
    wanted = held[:, 2] + held[:, 6]
    if wanted.max() > 0:
        return int(wanted.argmax())
    expired, last_was_read = observation[0, 4] > 0, observation[0, 5] > 0
    return nearest(observation, info) if expired or not last_was_read else len(observation) - 1


def at_random(seed: int) -> Policy:
    """A policy that chooses among what is possible, to begin with."""
    chance = numpy.random.default_rng(seed)

    def policy(observation: Observation, info: Mapping[str, Any]) -> int:
        return int(chance.choice(numpy.flatnonzero(info["action_mask"])))

    return policy


def episode(env: SchedulingEnv, policy: Policy, *, seed: int) -> tuple[float, int, dict[str, float]]:
    """One trial under a policy: the sum of rewards, the number of decisions, the metrics of its window."""
    observation, info = env.reset(seed=seed)
    total, steps, over = 0.0, 0, False
    while not over:
        observation, reward, _, over, info = env.step(policy(observation, info))
        total, steps = total + reward, steps + 1
    return total, steps, info["metrics"]


def baseline_table(env: SchedulingEnv, seeds: Iterable[int] = range(5), metric: str = "throughput_mb_per_s") -> list[dict[str, Any]]:
    """What simple policies and the schedulers of ``baselines`` reach: mean of ``metric`` over trials with these seeds, and decisions a trial."""
    seeds = list(seeds)
    policies: dict[str, Policy] = {"random": at_random(0), "oldest": oldest, "nearest": nearest, "anticipate": anticipate}
    rows: list[dict[str, Any]] = []
    for name, policy in policies.items():
        found = [episode(env, policy, seed=seed) for seed in seeds]
        mean = sum(metrics[metric] for _, _, metrics in found) / len(found)
        rows.append({"policy": name, metric: mean, "decisions": sum(steps for _, steps, _ in found) / len(found)})
    for at, variant in enumerate(env.plan.variants[1:]):
        mean = sum(env.observe(at, seed=seed)[metric] for seed in seeds) / len(seeds)
        rows.append({"policy": f"scheduler {variant}", metric: mean, "decisions": None})
    return rows


gymnasium.register(id="schedlab/Scheduling-v0", entry_point="schedlab.gym:SchedulingEnv")
