"""Schedulers written in Python."""

import signal
import subprocess
import sys

import pytest

import schedlab


class Oldest(schedlab.Elevator):
    """Order of arrival."""

    guarantees = ["work-conserving", "arrival-order", "passed-at-most=0"]

    def dispatch(self, now, disk):
        return next(iter(self.held.values()))


class Nearest(schedlab.Elevator):
    """The request nearest to the end of the last one."""

    guarantees = ["work-conserving"]

    def __init__(self):
        self.head = 0

    def dispatch(self, now, disk):
        request = min(self.held.values(), key=lambda request: abs(request.sector - self.head))
        self.head = request.end
        return request


class Quick(schedlab.Elevator):
    """The request that the disk reaches first."""

    uses_disk = True

    def dispatch(self, now, disk):
        return min(self.held.values(), key=lambda request: (disk.positioning_ns(request), request.seq))


class Patient(schedlab.Elevator):
    """Waits for the last reader's next request."""

    guarantees = ["idles-with-timer"]
    tunables = {"patience": schedlab.Tunable(2, 0, 100, "ms", "how long it waits")}

    def __init__(self):
        self.last, self.until = None, None

    def dispatch(self, now, disk):
        wanted = [request for request in self.held.values() if request.process == self.last]
        if wanted:
            return wanted[0]
        if self.until is not None and now < self.until:
            self.timer = self.until
            return None
        return next(iter(self.held.values()))

    def complete(self, now, request, issued_ns):
        self.last = request.process if request.op == "read" else None
        self.until = now + self.patience * 1_000_000 if self.last is not None else None


def trials(*variants, **changes):
    """The observations of a small plan, by variant."""
    arguments = {"device": "hp97560", "workloads": ["randread:clients=6"], "rounds": 2, "duration_ms": 2000, "warmup_ms": 0}
    plan = schedlab.Plan(variants=variants, method="fixed", **(arguments | changes))
    found = {}
    for row in schedlab.run(plan).trials().rows():
        found.setdefault(row["variant"], []).append({key: row[key] for key in ("iops", "latency_p99_us", "throughput_mb_per_s")})
    return found


def test_a_scheduler_of_python_measures_as_the_one_of_the_laboratory_that_it_repeats():
    found = trials("fcfs", Oldest)
    assert found["Oldest"] == found["fcfs"]


def test_a_disk_answers_a_class_that_asks_for_it():
    found = trials("fcfs", "sptf", Quick)
    assert found["Quick"][0]["iops"] > 1.2 * found["fcfs"][0]["iops"]


def test_waiting_on_purpose_pays_off_for_two_readers():
    works = ["think-mix:clients=2:block_size=16k:file_size=100M:think_time=100us"]
    found = trials("mq-deadline", Patient, schedlab.Variant(Patient, {"patience": 0}), workloads=works, device="cheetah9lp")
    waits, does_not = found["Patient"][0], found["Patient:patience=0"][0]
    assert waits["throughput_mb_per_s"] > 3 * does_not["throughput_mb_per_s"]


def test_a_timer_that_is_due_when_a_request_completes_is_no_error():
    ends, due = set(), []
    found = trials("fcfs", mutant(complete=lambda self, now, request, issued_ns: ends.add(now)))
    times = sorted(ends)

    def insert(self, now, request):
        self.timer = next((at for at in times if at > now), None)

    def complete(self, now, request, issued_ns):
        if self.timer == now:
            due.append(now)

    # Decisions are those of the first run, and so are the times: a completion comes before the timer of the same nanosecond.
    assert trials("fcfs", mutant(insert=insert, complete=complete)) == found
    assert due


@pytest.mark.parametrize("own", [Oldest, Nearest, Quick, Patient])
def test_honest_schedulers_break_no_property(own):
    assert schedlab.broken_properties(own, cases=12) == []


def mutant(**changes):
    """A class like Oldest with other methods or attributes."""
    return type("Mutant", (Oldest,), changes)


def second(self, now, disk):
    return list(self.held.values())[-1]


def every_third_time(self, now, disk):
    self.count = getattr(self, "count", 0) + 1
    return None if self.count % 3 == 0 else next(iter(self.held.values()))


class Halves:
    """A tunable that does not read back."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, value // 2)


@pytest.mark.parametrize(
    ("planted", "property"),
    [
        (mutant(dispatch=second), "order_of_arrival"),
        (mutant(dispatch=every_third_time), "never_idle_while_holding_work"),
        (mutant(dispatch=lambda self, now, disk: None), "served_once_through_the_queue"),
        (mutant(tunables={"depth": schedlab.Tunable(8, 0, 64)}, depth=Halves()), "tunables_read_back"),
    ],
)
def test_a_planted_fault_breaks_the_property_that_is_about_it(planted, property):
    assert property in {broken.property for broken in schedlab.broken_properties(planted, cases=24)}


def test_an_exception_of_a_method_ends_the_experiment_and_is_raised():
    def divide(self, now, disk):
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        trials("fcfs", mutant(dispatch=divide))
    with pytest.raises(ValueError, match="no more"):
        trials("fcfs", mutant(__init__=lambda self: (_ for _ in ()).throw(ValueError("no more"))))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dispatch": lambda self, now, disk: 7}, "expected a request of self.held"),
        ({"dispatch": lambda self, now, disk: None, "guarantees": []}, "no event is pending"),
        ({"dispatch": lambda self, now, disk: setattr(self, "timer", now)}, "not in the future"),
        ({"dispatch": lambda self, now, disk: setattr(self, "last", getattr(self, "last", None) or next(iter(self.held.values()))) or self.last}, "not held"),
        ({"dispatch": lambda self, now, disk: disk.positioning_ns(next(iter(self.held.values())))}, "uses_disk"),
    ],
)
def test_what_no_scheduler_may_do_is_named_and_does_not_hang(changes, words):
    with pytest.raises(schedlab.ElevatorError, match=words):
        trials("fcfs", mutant(**changes))


def test_names_that_are_taken_or_no_words_are_refused():
    for name in ("bfq", "a b", "a:b"):
        with pytest.raises(schedlab.PlanError):
            trials("fcfs", mutant(name=name))
    with pytest.raises(schedlab.PlanError, match="unknown guarantee"):
        trials("fcfs", mutant(guarantees=["fair"]))


def test_a_class_that_is_defined_again_replaces_the_one_before_and_the_results_tells_them_apart():
    first = trials("look", type("Again", (Oldest,), {}))["Again"]
    second = trials("look", type("Again", (Nearest,), {}))["Again"]
    assert first != second
    plan = schedlab.Plan(device="hp97560", variants=["look", Nearest], workloads=["randread"], rounds=2, method="fixed", duration_ms=100)
    source = schedlab.run(plan).environment["own schedulers"]["Nearest"]
    assert "Nearest, sha256:" in source


def test_too_many_names_are_refused_and_the_limit_is_said():
    with pytest.raises(schedlab.PlanError, match="expected at most 64 names"):
        for number in range(70):
            type(f"Many{number}", (Oldest,), {}).register()


# A scheduler whose first decision says so and then takes one hour: asleep, at work, or in many short naps.
TAKES_AN_HOUR = """
import os, schedlab, time

class Hour(schedlab.Elevator):
    def dispatch(self, now, disk):
        os.write(1, b'decides\\n')
        {body}
        return next(iter(self.held.values()))

schedlab.run(schedlab.Plan(device='hp97560', variants=['fcfs', Hour], workloads=['randread:clients=4'], rounds=2, duration_ms=2000, method='fixed'))
"""


@pytest.mark.parametrize("body", ["time.sleep(3600)", "exec('while True: pass')", "time.sleep(0.05)"])
def test_an_interrupt_ends_a_scheduler_that_sleeps_or_loops(body):
    code = TAKES_AN_HOUR.format(body=body)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"decides\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in said and process.returncode in (1, 130, -signal.SIGINT), said
