"""Checks a manifest against the JSON schema of Kubernetes, and prints what it starts.

Run by the end-to-end test of the recipe, in an environment with kubernetes-validate.
"""

import json
import sys

import kubernetes_validate
import yaml

with open(sys.argv[1], encoding="utf-8") as manifest:
    job = yaml.safe_load(manifest)
for version in ("1.29", kubernetes_validate.latest_version()):
    kubernetes_validate.validate(job, version, strict=True)
spec = job["spec"]
assert job["kind"] == "Job" and spec["completionMode"] == "Indexed", job
[container] = spec["template"]["spec"]["containers"]
command = container["command"]
assert command[:2] == ["sh", "-ceu"], command
print(json.dumps({"completions": spec["completions"], "script": command[2]}))
