"""test_job.py PROGRAM: runs the manifest of `qdnb sweep script kubernetes` on a Kubernetes control plane.

Checks that the published schemas accept the manifest; that index i trains line i; that a killed process is retried, an
evicted pod and a pod of a lost node are replaced, and an index that always fails gives up alone; that a recreated Job
resumes what failed; and that the runs end with the same numbers as undisturbed ones. See cluster.py.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cluster import Cluster, Node

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".tools" / "kubernetes"
LINES = 6
JOB, IMAGE = "qdnb-training", "registry.example.com/qdnb:1"
# Kubernetes versions whose schemas the manifest is validated with; limits per index need 1.29.
VERSIONS = ["1.29", "1.34", "1.37"]
PATIENCE = 900


def write_plan(qdnb: Path, path: Path) -> None:
    """Writes a plan of LINES seeds of a small run that takes some seconds."""
    smoke = subprocess.run([qdnb, "sweep", "plan", "--experiment", "training", "--scale", "smoke", "--algorithms",
                            "map-elites"], check=True, capture_output=True, text=True).stdout
    line = json.loads(smoke.splitlines()[0])
    line["run"]["env"] = "pointmaze"
    line["run"]["hyperparameters"].update(hidden=[8, 8], episode_length=100)
    line["budget"] = {"generations": 3000}
    lines = []
    for seed in range(LINES):
        line["run"]["seed"] = seed
        lines.append(json.dumps(line | {"hash": ""}) + "\n")  # an edited line has an empty hash
    path.write_text("".join(lines))


def numbers(runs: Path) -> dict[str, list[list[str]]]:
    """The metrics of each run by its seed, without columns of times."""
    found = {}
    for folder in runs.iterdir():
        if (folder / "metrics.csv").exists():
            rows = list(csv.reader((folder / "metrics.csv").open()))
            keep = [i for i, name in enumerate(rows[0]) if "second" not in name and "time" not in name]
            seed = json.loads((folder / "config.json").read_text())["seed"]
            found[str(seed)] = [[row[i] for i in keep] for row in rows]
    return found


class Test:
    def __init__(self, cluster: Cluster, nodes: dict[str, Node], data: Path) -> None:
        self.cluster, self.nodes, self.data = cluster, nodes, data

    def job(self) -> Any:
        return self.cluster.get(f"/apis/batch/v1/namespaces/default/jobs/{JOB}")

    def pods(self, index: int | None = None) -> list[Any]:
        items = self.cluster.get("/api/v1/namespaces/default/pods")["items"]
        label = "batch.kubernetes.io/job-completion-index"
        return [p for p in items if index is None or p["metadata"]["annotations"].get(label) == str(index)]

    def running(self, but: str = "", node: str = "") -> Any:
        """A running pod whose run has written metrics, so that there is something to lose."""
        for pod in self.pods():
            at = pod["spec"].get("nodeName")
            seed = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
            begun = any(len(rows) > 50 for s, rows in numbers(self.data / "runs").items() if s == seed) \
                if (self.data / "runs").exists() else False
            if pod["status"]["phase"] == "Running" and begun and seed != but and node in ("", at) \
                    and not pod["metadata"].get("deletionTimestamp"):
                return pod
        return None

    def conditions(self) -> dict[str, str]:
        return {c["type"]: c.get("reason", "") for c in self.job()["status"].get("conditions", []) if c["status"] == "True"}

    def replaced(self, pod: Any) -> Any:
        """The pod that took over the index of a pod that was lost."""
        index = int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])
        return next((p for p in self.pods(index) if p["metadata"]["uid"] != pod["metadata"]["uid"]
                     and p["status"]["phase"] in ("Running", "Succeeded")
                     and p["metadata"]["creationTimestamp"] >= pod["metadata"]["creationTimestamp"]), None)

    def log(self, pod: Any) -> str:
        path = self.data / "logs" / f"{pod['metadata']['name']}.log"
        return path.read_text() if path.exists() else ""


def say(text: str) -> None:
    print(f"ok   {text}", flush=True)


def check(condition: bool, text: str) -> None:
    if not condition:
        raise RuntimeError(text)
    say(text)


def disturb(test: Test) -> None:
    cluster = test.cluster
    wait = cluster.wait
    # A process that is killed: its pod fails, and the index is tried again.
    pod = wait("a run to kill", lambda: test.running(but="0"), PATIENCE)
    os.killpg(test.nodes[pod["spec"]["nodeName"]].process_of(pod["metadata"]["name"]).pid, signal.SIGKILL)
    wait("the retry", lambda: test.replaced(pod), PATIENCE)
    index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
    say(f"index {index}: kill -9 of its process, retried")

    # An evicted pod saves its run, ends with status 130, and is replaced without counting as a failure.
    pod = wait("a run to evict", lambda: test.running(but="0"), PATIENCE)
    name = pod["metadata"]["name"]
    index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
    cluster.request("POST", f"/api/v1/namespaces/default/pods/{name}/eviction",
                    {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
    wait("the evicted process", lambda: test.nodes[pod["spec"]["nodeName"]].process_of(name).poll() is not None, PATIENCE)
    code = test.nodes[pod["spec"]["nodeName"]].process_of(name).returncode
    check(code == 130, f"index {index}: evicted, its process saved the run and ended with status {code}")
    new = wait("the replacement", lambda: test.replaced(pod), PATIENCE)
    failures = new["metadata"]["annotations"].get("batch.kubernetes.io/job-index-failure-count", "0")
    before = pod["metadata"]["annotations"].get("batch.kubernetes.io/job-index-failure-count", "0")
    check(failures == before, f"index {index}: replaced, and the eviction did not count as a failure")

    # A node that loses power. With a pod failure policy the Job replaces a pod when it has ended, which nobody can
    # report; deleting the node, as cloud providers do, or its out-of-service taint says so.
    pod = wait("a run on node b", lambda: test.running(but="0", node="b"), PATIENCE)
    index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
    test.nodes["b"].die()
    start = time.monotonic()
    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
    wait("the eviction of the lost node's pods",
         lambda: (p := cluster.get(path)) is None or p["metadata"].get("deletionTimestamp"), PATIENCE)
    time.sleep(10)
    check(test.replaced(pod) is None,
          f"index {index}: its node died; after {time.monotonic() - start:.0f} s the pod is terminating and not yet replaced")
    cluster.run("taint", "nodes", "b", "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
    wait("the replacement on another node", lambda: test.replaced(pod), PATIENCE)
    say(f"index {index}: replaced on another node after `kubectl taint nodes b node.kubernetes.io/out-of-service=...`")


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # stops the cluster, too
    qdnb = Path(sys.argv[1]).resolve()
    work = Path(tempfile.mkdtemp(prefix="qdnb-kubernetes-"))
    data, alone = work / "data", work / "alone"
    for folder in (data / "logs", alone):
        folder.mkdir(parents=True)
    env = os.environ | {"QDNB_BACKEND": os.environ.get("QDNB_BACKEND", "go")}
    write_plan(qdnb, data / "plan.jsonl")
    manifest = subprocess.run([qdnb, "sweep", "script", "kubernetes", "--plan", data / "plan.jsonl", "--image", IMAGE,
                               "--claim", "shared", "--name", JOB, "--parallel", "3", "--cpus", "1", "--memory", "1G"],
                              check=True, capture_output=True, text=True).stdout
    (work / "job.yaml").write_text(manifest)
    for version in VERSIONS:
        subprocess.run([TOOLS / "venv/bin/kubernetes-validate", "--strict", "--quiet", "-k", version, work / "job.yaml"], check=True)
        say(f"the manifest is valid in Kubernetes {version}")

    cluster = Cluster(work / "cluster", TOOLS / "bin", TOOLS / "venv")
    nodes: dict[str, Node] = {}
    try:
        nodes.update({name: Node(cluster, name, qdnb, data, env, cores=2) for name in ("a", "b")})
        volume = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
        cluster.request("POST", "/api/v1/persistentvolumes", {
            "metadata": {"name": "shared"},
            "spec": volume | {"capacity": {"storage": "1Gi"}, "hostPath": {"path": str(data)},
                              "persistentVolumeReclaimPolicy": "Retain"}})
        cluster.request("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {
            "metadata": {"name": "shared"},
            "spec": volume | {"volumeName": "shared", "resources": {"requests": {"storage": "1Gi"}}}})
        test = Test(cluster, nodes, data)

        # Line 0 always fails: something that is not a folder is in its run's place.
        first = subprocess.run([qdnb, "sweep", "status", "--json", "--plan", data / "plan.jsonl", "--runs", data / "runs"],
                               check=True, capture_output=True, text=True).stdout
        obstacle = data / "runs" / json.loads(first)["lines"][0]["run"]
        obstacle.parent.mkdir(exist_ok=True)
        obstacle.write_text("not a run folder\n")

        print(cluster.run("apply", "-f", "-", stdin=manifest).strip(), flush=True)
        disturb(test)
        status = cluster.wait("the end of the Job", lambda: test.conditions().get("Failed") and test.job()["status"], PATIENCE)
        check(status.get("failedIndexes") == "0" and status.get("completedIndexes") == f"1-{LINES - 1}",
              f"the Job ended ({test.conditions()['Failed']}): failed indexes {status.get('failedIndexes')}, "
              f"completed {status.get('completedIndexes')}")
        failures = max(int(p["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"]) for p in test.pods(0))
        check(failures == 3, f"index 0 failed, and was retried {failures} times")

        obstacle.unlink()
        cluster.run("delete", "job", JOB, "--wait=true")
        cluster.run("apply", "-f", "-", stdin=manifest)
        status = cluster.wait("the recreated Job", lambda: "Complete" in test.conditions() and test.job()["status"], PATIENCE)
        check(status.get("completedIndexes") == f"0-{LINES - 1}",
              f"the recreated Job completed: indexes {status.get('completedIndexes')}")

        subprocess.run([qdnb, "sweep", "run", "--quiet", "--plan", data / "plan.jsonl", "--runs", alone],
                       check=True, env=env, capture_output=True)
        check(numbers(data / "runs") == numbers(alone) and len(numbers(alone)) == LINES,
              f"the {LINES} runs have the same metrics as undisturbed ones")
    except (RuntimeError, OSError) as error:
        print(f"FAIL {error}; files are in {work}", file=sys.stderr)
        return 1
    finally:
        for node in nodes.values():
            if node.alive:
                node.stop()
        cluster.stop()
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
