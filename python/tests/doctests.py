"""Runs the examples in the documentation of the package's modules."""

import doctest
import importlib
import sys

MODULES = ["schedlab", "schedlab.plan", "schedlab.experiment", "schedlab.elevator", "schedlab.gym"]

failed = 0
for name in MODULES:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    print(f"{name}: {found.attempted} examples, {found.failed} failed")
    failed += found.failed + (found.attempted == 0)
sys.exit(failed > 0)
