"""Measures what the package adds: to a call, to a decision in Python, to a step of the environment, and Ray against one machine.

    python python/benches/speed.py [call] [elevator] [gym] [ray [ROUNDS]]

Run it on a machine that does nothing else. docs/src/develop/python.md has its figures of policies.
"""

import statistics
import sys
import time

import schedlab

READERS = "think-mix:clients=2:block_size=16k:file_size=600M:think_time=100us"


def seconds(work, times):
    """The median time of `work`."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def call():
    """The smallest experiment: four trials of a microsecond-long device, with its plan, results and analysis."""
    plan = schedlab.Plan(
        device="null", variants=["none", "kyber"], workloads=["randread:clients=1"], rounds=2, method="fixed", duration_ms=1, warmup_ms=0
    )

    def around():
        began = time.perf_counter()
        experiment = schedlab.run(plan, workers=1)
        return time.perf_counter() - began - experiment.measured_s

    print(f"run: {1e3 * statistics.median(around() for _ in range(200)):.3f} ms beside measuring")
    experiment = schedlab.run(plan)
    print(f"analysis: {1e3 * seconds(experiment.analysis, 300):.3f} ms")
    print(f"a table to polars: {1e3 * seconds(lambda: experiment.trials().to_polars(), 300):.3f} ms")


def elevator():
    """A class of Python against the same scheduler of the laboratory."""

    class Oldest(schedlab.Elevator):
        """Order of arrival."""

        def dispatch(self, now, disk):
            return next(iter(self.held.values()))

    rates = {}
    for variant in ("fcfs", Oldest):
        plan = schedlab.Plan(
            device="null", variants=[variant, "none"], workloads=["randread:clients=8"], rounds=2, method="fixed", duration_ms=200, warmup_ms=0
        )
        began = time.perf_counter()
        rows = [row for row in schedlab.run(plan, workers=1).trials().rows() if row["variant"] != "none"]
        requests = sum(row["iops"] * row["duration_ns"] / 1e9 for row in rows)
        rates[str(variant)] = requests / (time.perf_counter() - began)
        print(f"{plan.variants[0]}: at least {rates[str(variant)]:,.0f} requests a second")


def gym():
    """Steps of the environment, and its table."""
    from schedlab import gym as lab

    env = lab.SchedulingEnv()
    began = time.perf_counter()
    steps = sum(lab.episode(env, lab.oldest, seed=seed)[1] for seed in range(5))
    print(f"{steps / (time.perf_counter() - began):,.0f} steps a second")
    for row in lab.baseline_table(env):
        decisions = "" if row["decisions"] is None else f"{row['decisions']:.0f}"
        print(f"| {row['policy']} | {row['throughput_mb_per_s']:.2f} | {decisions} |")


def on_ray(rounds):
    """The same plan on this machine's CPUs without Ray, and on a cluster of two nodes of one CPU each."""
    import ray
    from ray.cluster_utils import Cluster

    import schedlab.ray

    plan = schedlab.Plan(
        device="cheetah9lp", variants=["mq-deadline", "none", "kyber", "anticipatory"], workloads=[READERS], rounds=rounds, method="fixed",
        duration_ms=5000, warmup_ms=1000,
    )
    began = time.perf_counter()
    here = schedlab.run(plan, workers=2)
    without = time.perf_counter() - began
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 * 2**20})
    cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    ray.init(address=cluster.address, log_to_driver=False)
    # Workers are started once for a whole analysis; what follows is the rate with them.
    schedlab.ray.run(schedlab.Plan(device="null", variants=["none", "kyber"], workloads=["randread"], rounds=3, method="fixed", duration_ms=5))
    began = time.perf_counter()
    there = schedlab.ray.run(plan)
    with_ray = time.perf_counter() - began
    ray.shutdown()
    cluster.shutdown()
    assert there.to_bytes() == here.to_bytes()
    trials = len(here)
    print(f"{trials} trials: {trials / without:.1f} a second on two threads, {trials / with_ray:.1f} on Ray: {without / with_ray:.3f} of it")


if __name__ == "__main__":
    words = sys.argv[1:] or ["call", "elevator", "gym"]
    while words:
        word = words.pop(0)
        if word == "ray":
            on_ray(int(words.pop(0)) if words and words[0].isdigit() else 500)
        else:
            {"call": call, "elevator": elevator, "gym": gym}[word]()
