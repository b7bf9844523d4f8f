"""Plans, experiments, analyses, tables, plots."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas
import polars
import pyarrow
import pytest

import schedlab

REPOSITORY = Path(__file__).parents[2]
TWO_READERS = REPOSITORY / "plans/demo-two-readers.toml"


def small(**changes):
    """A plan of milliseconds."""
    arguments = {"device": "hp97560", "variants": ["fcfs", "look"], "workloads": ["randread:clients=4"], "rounds": 6}
    arguments |= {"duration_ms": 400, "warmup_ms": 100} | changes
    return schedlab.Plan(**arguments)


def program():
    """The program of the same build."""
    path = os.environ.get("SCHEDLAB_PROGRAM", "")
    if not Path(path).exists():
        assert "SCHEDLAB_MUST_RUN_ALL" not in os.environ, path
        pytest.skip(f"no {path}: build the program")
    return path


def test_the_package_and_the_program_are_one_build():
    version = subprocess.run([program(), "--version", "--json"], check=True, capture_output=True, text=True).stdout
    assert json.loads(version)["build"] == schedlab.__build__


def test_a_plan_of_objects_is_the_plan_of_words_and_of_text():
    variants = [schedlab.Variant("fcfs"), schedlab.Variant("deadline", {"fifo_batch": 4})]
    works = [schedlab.Workload("randread", {"clients": 4})]
    plan = small(variants=variants, workloads=works)
    assert plan == small(variants=["fcfs", "deadline:fifo_batch=4"])
    assert plan == schedlab.Plan.from_toml(plan.to_toml()) and hash(plan) == hash(small(variants=variants, workloads=works))
    assert plan.variants == ["fcfs", "deadline:fifo_batch=4"]
    assert plan.completed().to_dict()["workload"][0]["params"]["clients"] == "4"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"variants": ["fcfs", "deadlin"]}, "deadline"),
        ({"variants": ["fcfs", "fcfs"]}, "two variants are called"),
        ({"variants": []}, "variant"),
        ({"device": "hp97561"}, "hp97560"),
        ({"method": "guess"}, "spending"),
        ({"margin": 7.0}, "criteria.margin"),
        ({"seed": -1}, "integer `-1`"),
    ],
)
def test_a_wrong_plan_is_refused_with_what_would_be_right(changes, words):
    with pytest.raises(schedlab.PlanError, match=words):
        schedlab.run(small(**changes))


def test_a_plan_of_another_arena_names_the_program():
    with pytest.raises(schedlab.PlanError, match="schedlab run plan.toml"):
        schedlab.run(small(arena="kernel", variants=["none", "bfq"]))


def test_the_results_is_the_same_with_any_number_of_workers_and_the_analysis_is_the_programs(tmp_path):
    plan = schedlab.Plan.read(TWO_READERS)
    one, two = schedlab.run(plan, workers=1), schedlab.run(plan, workers=3, out=tmp_path / "python")
    assert one.to_bytes() == two.to_bytes()
    assert (tmp_path / "python/results.jsonl").read_bytes() == one.to_bytes()
    subprocess.run([program(), "run", TWO_READERS, "--out", tmp_path / "program"], check=True, capture_output=True)
    all_results = [json.loads(line) for line in (tmp_path / "program/results.jsonl").read_text().splitlines()]
    # Only the command that repeats it differs.
    all_results[0]["command"] = "schedlab run plan.toml"
    assert all_results == [json.loads(line) for line in one.to_bytes().splitlines()]
    analyses = [json.loads((tmp_path / of / "analysis.json").read_text()) for of in ("program", "python")]
    for analysis in analyses:
        del analysis["origin"]["command"]
    assert analyses[0] == analyses[1] and json.loads(one.analyze().to_json())["comparisons"] == analyses[0]["comparisons"]
    read = schedlab.read(tmp_path / "program")
    assert read.analyze().variant == one.analyze().variant == "anticipatory"


def test_a_directory_that_holds_results_is_not_written_again(tmp_path):
    schedlab.run(small(), out=tmp_path)
    with pytest.raises(schedlab.PlanError, match="already holds a results"):
        schedlab.run(small(), out=tmp_path)


def test_other_threads_of_python_go_on_meanwhile():
    counted, over = 0, threading.Event()

    def count():
        nonlocal counted
        while not over.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    schedlab.run(small(rounds=40, duration_ms=4000), workers=1)
    over.set()
    thread.join()
    assert counted > 1000


def test_progress_is_reported_and_an_exception_of_it_ends_the_experiment():
    steps = []
    schedlab.run(small(rounds=200, duration_ms=4000), progress=steps.append)
    assert steps and all(0 <= step["share"] <= 1 for step in steps) and steps[-1]["variant"] in ("fcfs", "look")

    def fail(step):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        schedlab.run(small(rounds=5000, duration_ms=4000), progress=fail)


def test_an_interrupt_ends_an_experiment_within_a_second_and_the_results_can_be_read(tmp_path):
    code = (
        "import schedlab, sys; plan = schedlab.Plan(device='hp97560', variants=['fcfs', 'look'], workloads=['randread:clients=4'], "
        "rounds=5000, duration_ms=20000, method='fixed'); print('begins', flush=True); schedlab.run(plan, out=sys.argv[1])"
    )
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "out"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    deadline = time.monotonic() + 60
    while not (tmp_path / "out/results.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in said, said
    experiment = schedlab.read(tmp_path / "out")
    assert experiment.ended == "interrupted" and experiment.analyze().cautions


def test_tables_are_frames_of_pandas_and_polars_and_tables_of_arrow():
    experiment = schedlab.run(small(workloads=["randread:clients=4", "mixed"], method="fixed"))
    trials = experiment.trials()
    frames = trials.to_pandas(), pandas.DataFrame(trials.to_dict()), trials.to_polars().to_pandas(), pyarrow.table(trials).to_pandas()
    assert len(trials) == len(experiment) > 12 and trials.columns == list(frames[0].columns)
    for frame in frames:
        assert frame["throughput_mb_per_s"].sum() == frames[0]["throughput_mb_per_s"].sum() > 0
        assert set(frame["variant"]) == {"fcfs", "look"}
    latencies = polars.DataFrame(experiment.latencies())
    assert latencies["latency_ns"].dtype == polars.UInt64 and latencies["percentile"].max() <= 100
    # A table outlives the results that it is of, and is read more than once.
    del experiment
    assert polars.DataFrame(trials).equals(polars.DataFrame(trials))


def test_an_analysis_says_what_its_tables_say():
    analysis = schedlab.run(small()).analyze()
    found = analysis.to_dict()
    compared = polars.DataFrame(analysis.comparisons())
    assert compared["ratio"].to_list() == [one["ratio"] for one in found["comparisons"]]
    assert compared["verdict"].to_list() == [one["verdict"] for one in found["comparisons"]]
    assert len(analysis.summaries()) == len(found["summaries"])
    assert analysis.sentence == found["recommendation"]["sentence"] and analysis.sentence in repr(analysis)
    assert analysis.variant in (None, "fcfs", "look")


def test_other_criteria_give_another_analysis_and_wrong_ones_are_refused():
    experiment = schedlab.run(small())
    assert experiment.analyze(margin=0.5).to_dict()["criteria"]["margin"] == 0.5
    assert experiment.analyze(margin="50%", method="fixed").to_dict()["criteria"]["method"] == "fixed"
    for wrong in ({"margin": "much"}, {"method": "guess"}, {"alpha": 2.0}):
        with pytest.raises(schedlab.PlanError):
            experiment.analyze(**wrong)


def test_plots_are_those_of_the_report(tmp_path):
    analysis = schedlab.run(small()).analyze()
    kinds = {figure.kind for figure in analysis.figures()}
    assert kinds == {"effects", "distribution", "timeline", "latency"}
    figure = analysis.plot("latency", of="all")
    figure.save(tmp_path / "latency.svg")
    assert (tmp_path / "latency.svg").read_text() == figure.svg == figure._repr_svg_()
    assert figure.label in analysis.plot("latency").label and "xmlns" in figure.svg
    with pytest.raises(schedlab.PlanError, match="expected one of"):
        analysis.plot("response")
    names = sorted(path.name for path in analysis.save(tmp_path / "report"))
    assert names == ["analysis.json", "comparisons.csv", "report.html", "report.md", "trials.csv"]


def test_a_name_from_a_plan_is_no_markup_in_a_figure():
    variants = [schedlab.Variant("fcfs", name="<script>alert(1)</script>"), schedlab.Variant("look", name='"><img src=x>')]
    for figure in schedlab.run(small(variants=variants)).analyze().figures():
        assert "<script" not in figure.svg and "<img" not in figure.svg


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff\xfe\x00", b'{"kind":"header"}\n', b"[" * 100_000, b'{"kind":"header","schema":99}\n'])
def test_results_from_elsewhere_is_read_or_refused(text):
    with pytest.raises((schedlab.ExperimentError, schedlab.PlanError)):
        schedlab.Experiment.from_bytes(text)


def test_results_survives_being_written_and_read():
    experiment = schedlab.run(small())
    again = schedlab.Experiment.from_bytes(experiment.to_bytes())
    assert again.to_bytes() == experiment.to_bytes() and again.analyze().to_json() == experiment.analyze().to_json()
    assert again.plan == experiment.plan and again.environment["device"]["identity"] == "hp97560"


def test_the_examples_for_readers_run(tmp_path, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    text = (REPOSITORY / "python/README.md").read_text().split("```python\n", 1)[1].split("```", 1)[0]
    names = {}
    exec(text, names)
    assert names["analysis"].variant == "anticipatory"


def test_the_notebook_runs(tmp_path):
    import nbclient
    import nbformat

    notebook = nbformat.read(REPOSITORY / "python/examples/two-readers.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/svg+xml" in output.get("data", {}) for output in shown), "a plot is shown"
    assert any("text/html" in output.get("data", {}) for output in shown), "a frame is shown"
