"""Compare Linux I/O schedulers on modelled disks: randomised rounds, intervals, verdicts.

>>> import schedlab
>>> plan = schedlab.Plan(
...     device="cheetah9lp",
...     variants=["mq-deadline", "anticipatory"],
...     workloads=["think-mix:clients=2:block_size=16k:file_size=600M:think_time=100us"],
...     rounds=6,
... )
>>> experiment = schedlab.run(plan)
>>> analysis = experiment.analyze()
>>> analysis.variant
'anticipatory'
>>> [row["verdict"] for row in analysis.comparisons().rows() if row["primary"]]
['better']

Everything is simulated in this process, in virtual time: the same plan gives the same results, byte for byte, whatever the number of
threads. Plans of the arenas ``kernel``, ``disk`` and ``cpu`` are measured by the program ``schedlab``; :func:`read` reads their all_results.
"""

from __future__ import annotations

from ._schedlab import ElevatorError, ExperimentError, PlanError, Request, __build__, __version__
from .elevator import BrokenProperty, Elevator, Tunable, broken_properties, schedulers
from .experiment import Experiment, Figure, Progress, Analysis, Table, read, run
from .plan import Variant, Plan, Workload

__all__ = [
    "Variant",
    "BrokenProperty",
    "Elevator",
    "ElevatorError",
    "Experiment",
    "ExperimentError",
    "Figure",
    "Plan",
    "PlanError",
    "Progress",
    "Request",
    "Analysis",
    "Table",
    "Tunable",
    "Workload",
    "__build__",
    "__version__",
    "broken_properties",
    "read",
    "run",
    "schedulers",
]
