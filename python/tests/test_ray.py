"""Experiments on Ray: two real nodes on this machine, and what can be lost there."""

import json
import os
import signal
import subprocess
import threading
import time

import psutil
import pytest
import ray
from ray.cluster_utils import Cluster

import schedlab
import schedlab.ray

TWO_READERS = {
    "device": "cheetah9lp",
    "workloads": ["think-mix:clients=2:block_size=16k:file_size=600M:think_time=100us"],
    "variants": ["mq-deadline", "none", "kyber", "anticipatory"],
    "duration_ms": 2000,
    "warmup_ms": 1000,
}


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with a CPU each; the second one has a disk."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    memory = {"object_store_memory": 80 * 2**20}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False} | memory)
    made.add_node(num_cpus=1, resources={schedlab.ray.MACHINE: 1, "disk:here": 1}, **memory)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def workers():
    """The processes of workers."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or [""]
        if words[0].startswith("ray::_Worker"):
            found.append(process)
    return found


def test_the_results_and_the_analysis_are_those_of_one_machine_to_the_last_byte(cluster, tmp_path):
    plan = schedlab.Plan(**TWO_READERS, rounds=12)
    steps = []
    here = schedlab.run(plan, out=tmp_path / "here")
    there = schedlab.ray.run(plan, out=tmp_path / "there", progress=steps.append)
    assert there.to_bytes() == here.to_bytes()
    assert (tmp_path / "there/analysis.json").read_bytes() == (tmp_path / "here/analysis.json").read_bytes()
    assert steps[-1]["share"] > 0 and all(step["left_s"] is None or step["left_s"] >= 0 for step in steps)


def test_an_open_end_is_found_where_one_machine_finds_it(cluster):
    plan = schedlab.Plan(**TWO_READERS)
    assert schedlab.ray.run(plan).to_bytes() == schedlab.run(plan).to_bytes()


def test_a_worker_that_is_killed_on_the_way_is_replaced_and_nothing_is_lost_or_counted_twice(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(schedlab.ray, "UNIT_S", 0.5)
    plan = schedlab.Plan(**(TWO_READERS | {"duration_ms": 20_000}), rounds=20)
    here = schedlab.run(plan)
    killed = []

    def kill():
        results, deadline = tmp_path / "out/results.jsonl", time.monotonic() + 120
        while not (results.exists() and results.read_bytes().count(b"\n") > 4) and time.monotonic() < deadline:
            time.sleep(0.02)
        for process in workers()[:1]:
            os.kill(process.pid, signal.SIGKILL)
            killed.append(process.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    there = schedlab.ray.run(plan, out=tmp_path / "out")
    thread.join()
    assert killed, "the experiment was over before a worker could be killed; make it longer"
    assert there.to_bytes() == here.to_bytes()
    assert there.analyze().to_json() == here.analyze().to_json()


def test_a_class_of_python_decides_on_every_node(cluster):
    class Oldest(schedlab.Elevator):
        """Order of arrival."""

        def dispatch(self, now, disk):
            return next(iter(self.held.values()))

    plan = schedlab.Plan(device="hp97560", variants=["fcfs", Oldest], workloads=["randread:clients=4"], rounds=4, duration_ms=500)
    there = schedlab.ray.run(plan)
    assert there.to_bytes() == schedlab.run(plan).to_bytes()


def test_an_exception_of_a_class_ends_the_experiment_and_names_it(cluster):
    class Divides(schedlab.Elevator):
        """Fails."""

        def dispatch(self, now, disk):
            if now > 300_000_000:
                raise ZeroDivisionError("on purpose")
            return next(iter(self.held.values()))

    plan = schedlab.Plan(
        device="hp97560", variants=["fcfs", Divides], workloads=["randread:clients=4"], rounds=4, duration_ms=500, warmup_ms=100
    )
    with pytest.raises(Exception, match="on purpose"):
        schedlab.ray.run(plan)


def test_no_worker_is_left_behind(cluster):
    deadline = time.monotonic() + 30
    while workers() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not workers()


def test_a_segment_that_disagrees_ends_the_experiment(tmp_path):
    plan = schedlab.Plan(**TWO_READERS, rounds=6)
    from schedlab import _schedlab

    prepared = _schedlab.prepare(plan.to_toml(), command="schedlab run plan.toml")
    experiment = _schedlab.Distributed(prepared, tmp_path / "out")
    assert experiment.wait(30)
    units, trials = experiment.take(2)
    assert trials == 2
    segment = _schedlab.measure(prepared, units)
    experiment.put("first", segment)
    experiment.put("again", segment)
    other = schedlab.Plan(**(TWO_READERS | {"duration_ms": 2001}), rounds=6)
    stranger = _schedlab.prepare(other.to_toml(), command="schedlab run plan.toml")
    wrong = _schedlab.measure(stranger, units)
    for name, text in [("edited", wrong), ("torn", segment[: len(segment) // 2]), ("noise", b"\xff" * 100), ("empty", b"")]:
        with pytest.raises((schedlab.ExperimentError, schedlab.PlanError)):
            experiment.put(name, text)
    with pytest.raises((schedlab.ExperimentError, schedlab.PlanError)):
        experiment.put("changed", segment.replace(b'"iops":', b'"iops":1', 1))
    experiment.abandon()
    with pytest.raises(schedlab.ExperimentError, match="abandoned"):
        experiment.take(1)


def test_a_disk_that_no_node_has_is_refused_with_the_command_that_adds_it(cluster):
    plan = schedlab.Plan(arena="disk", device="loop:16M", variants=["none", "mq-deadline"], workloads=["randread"], rounds=3)
    with pytest.raises(schedlab.PlanError, match="ray start --resources="):
        schedlab.ray.run_on_disk(plan, "disk:elsewhere")
    with pytest.raises(schedlab.PlanError, match="needs no disk"):
        schedlab.ray.run_on_disk(schedlab.Plan(**TWO_READERS), "disk:here")


def test_two_experiments_on_one_machine_run_one_after_the_other(cluster):
    program = os.environ.get("SCHEDLAB_PROGRAM", "")
    if os.geteuid() != 0 or not os.path.exists(program):
        assert "SCHEDLAB_MUST_RUN_ALL" not in os.environ, program
        pytest.skip("needs root and the program")
    plan = schedlab.Plan(
        arena="disk", device="loop:64M", variants=["none", "mq-deadline"], workloads=["randread:clients=2"], rounds=3, method="fixed",
        duration_ms=100, warmup_ms=20, time_s=30,
    )
    found = []
    threads = [threading.Thread(target=lambda: found.append(schedlab.ray.run_on_disk(plan, "disk:here"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    spans = []
    for experiment in found:
        lines = [json.loads(line) for line in experiment.to_bytes().splitlines()]
        started = lines[0]["started_unix_ms"]
        spans.append((started, started + lines[-1]["at_ms"]))
        assert len(experiment) == 6 and experiment.ended == "rounds-measured"
    spans.sort()
    assert spans[0][1] <= spans[1][0], spans


SEARCH = [
    *("--arena", "sim", "--device", "hp97560", "--workload", "randread:clients=8", "--schedulers", "deadline,anticipatory"),
    *("--trials", "60", "--trial-time", "2s", "--seed", "3"),
]


def test_a_search_whose_candidates_are_measured_on_the_cluster_has_the_files_of_one_machine(cluster, tmp_path):
    program = os.environ["SCHEDLAB_PROGRAM"]
    here, there = tmp_path / "here", tmp_path / "there"
    subprocess.run([program, "tune", *SEARCH, "--out", here, "--quiet"], check=True, capture_output=True)
    found = schedlab.ray.tune(SEARCH, there)
    files = sorted(path.relative_to(here) for path in here.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(there) for path in there.rglob("*") if path.is_file())
    differ = [path for path in files if (here / path).read_bytes() != (there / path).read_bytes().replace(b"/there", b"/here")]
    assert [path for path in differ if path.name not in ("report.html", "report.md")] == []
    assert found["search"]["trials"] > 20


def test_a_search_on_a_machine_or_over_another_one_is_refused(cluster, tmp_path):
    with pytest.raises(schedlab.PlanError, match="exists"):
        schedlab.ray.tune(SEARCH, tmp_path)
    with pytest.raises(schedlab.ExperimentError, match="no-such-disk"):
        schedlab.ray.tune(["--arena", "sim", "--device", "no-such-disk"], tmp_path / "a")
    with pytest.raises(schedlab.PlanError, match="--arena sim"):
        schedlab.ray.tune(["--device", "loop:64M", "--workload", "randread"], tmp_path / "b")
