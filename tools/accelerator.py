"""accelerator.py QDNB [--backend cuda|tpu|cpu] [--out DIR] [--seconds 480]: measures a machine with an accelerator, once.

Needs no network, and Go only to build QDNB and the test programs next to it (`make accelerator`). Every result is written to DIR as
soon as it is known, so that it may be stopped at any time; DIR/summary.md has the table for docs/reference/set-up.md.
Timings come first, one after the other: doctor; rollouts and updates, and the same with JAX and Brax where they are
installed for this accelerator (PEER_PYTHON names a Python that has them); variation by policy gradient of 50
individuals and of 1. Then several at a time, as the processor has cores: golden files; a short training of each
family, twice, whose bytes must be the same; the same with later methods, in small sizes; a task of Gymnasium's. With
--backend cpu it is a dry run with small sizes. The exit status is 1 if a stage fails or its result is not as required;
stages for which no time is left are listed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import gobench
from statusline import duration

TOOLS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TOOLS)
GOLDEN = os.path.join(ROOT, "envs", "testdata")
MOST = 15  # how many times longer the variation of 50 individuals may take than that of 1
FILES = ("repertoire.npz", "skills.npz")  # of a run, compared byte by byte
# Later methods, in sizes whose programs compile fast: environment, how long to train, and settings.
LATER = {
    "dms": "pointmaze --generations 3 batch=20 hidden=8,8 episode_length=20",
    "cma-mega": "sphere --generations 3 batch=36 emitters=4",
    "cma-maega": "sphere --generations 3 batch=36 emitters=4",
    "ascii-me": "pointmaze --generations 3 batch=16 hidden=8,8 episode_length=20 num_epochs=3",
    "ppga": "pointmaze --generations 3 hidden=8,8 episode_length=20 num_envs=4 unroll_length=5 "
    "num_minibatches=2 value_hidden=8",
    "aurora-xcon": "pointmaze --generations 3 batch=16 hidden=8,8 episode_length=20 capacity=24 sampling=5 loop=2 "
    "epochs=3 training_batch=8 latent=2 extinction_every=3",
    "csf": "pointmaze --env-steps 400 hidden=8,8 diversity_hidden=8,8 episode_length=20 num_skills=5 "
    "negative_skills=16 batch_size=16 evaluation_states=2 replay_buffer_size=1000",
}


class Machine:
    """Runs commands until the deadline and keeps what they print."""

    def __init__(self, qdnb: str, backend: str, out: str, seconds: float) -> None:
        self.qdnb, self.backend, self.out = os.path.abspath(qdnb), backend, os.path.abspath(out)
        self.tests = os.path.dirname(self.qdnb)  # has envs.test and bench.test
        self.deadline = time.monotonic() + seconds
        self.rows: list[tuple[str, str, str]] = []  # stage, result, "ok", "FAIL" or "no time"
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[str]] = set()
        os.makedirs(self.out, exist_ok=True)
        self.environment = {**os.environ, "QDNB_NO_DOWNLOAD": "1", "QDNB_BACKEND": backend}

    def add(self, stage: str, result: str, state: str = "ok") -> None:
        with self.lock:
            self.rows.append((stage, result, state))
            print(f"{state:<8} {stage}: {result}", flush=True)
            with open(os.path.join(self.out, "summary.md.part"), "w", encoding="utf-8") as file:
                file.write("| stage | result | |\n|---|---|---|\n")
                file.writelines(f"| {a} | {b} | {c} |\n" for a, b, c in self.rows)
            os.replace(file.name, os.path.join(self.out, "summary.md"))

    def run(self, stage: str, command: list[str], most: float, env: dict[str, str] | None = None) -> str | None:
        """Returns what a command prints, or None after adding a row that says why there is none."""
        left = self.deadline - time.monotonic()
        if left < 5:
            self.add(stage, "no time left", "no time")
            return None
        name = stage.replace(" ", "-").replace(",", "")
        start, late = time.monotonic(), False
        with open(os.path.join(self.out, name + ".log"), "w+", encoding="utf-8") as log:
            with subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, text=True, env=env or self.environment, cwd=ROOT,
                                  start_new_session=True) as process:
                self.running.add(process)
                try:
                    process.wait(min(most, left))
                except BaseException as error:
                    os.killpg(process.pid, signal.SIGKILL)
                    late = isinstance(error, subprocess.TimeoutExpired)
                    if not late:
                        raise
                finally:
                    self.running.discard(process)
            log.seek(0)
            text = log.read()
        if process.returncode:
            last = (text.strip().splitlines() or ["it printed nothing"])[-1]
            self.add(stage, f"ended after {duration(time.monotonic() - start)}" if late else last[:200], "no time" if late else "FAIL")
            return None
        return text

    def stop(self) -> None:
        """Ends the commands of other threads, and starts no more."""
        self.deadline = 0
        for process in list(self.running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def bench(self, stage: str, benchmark: str) -> dict | None:
        """Runs a benchmark, see gobench.command."""
        text = self.run(stage, gobench.command(os.path.join(self.tests, "bench.test"), benchmark), 120)
        return None if text is None else gobench.parse(text)

    def json(self, stage: str, arguments: list[str], most: float = 120) -> dict | None:
        text = self.run(stage, [self.qdnb, *arguments, "--backend", self.backend, "--json"], most)
        return None if text is None else json.loads(text.strip().splitlines()[-1])


def peer(machine: Machine, stage: str, script: list[str], field: str, work: float, unit: str) -> None:
    """Runs a peer's script in a Python whose JAX uses this machine's accelerator."""
    python = os.environ.get("PEER_PYTHON", "python3")
    probe = "import jax; print(jax.default_backend())"
    found = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False).stdout.strip()
    if found != {"cuda": "gpu"}.get(machine.backend, machine.backend):
        machine.add(stage, f"{python} has no JAX for {machine.backend}: set PEER_PYTHON", "no peer")
        return
    text = machine.run(stage, [python, os.path.join(TOOLS, "peer", script[0]), *script[1:]], 90, dict(os.environ))
    if text is not None:
        machine.add(stage, f"{work / json.loads(text.strip().splitlines()[-1])[field]:,.0f} {unit}")


def measure(machine: Machine, small: bool) -> None:
    batch, steps, envs = (16, 20, ("pointmaze", "walker-uni")) if small else (
        1000, 250, ("ant-uni", "walker-uni", "halfcheetah-uni", "ant-trap", "pointmaze"))
    if (found := machine.json("doctor", ["doctor"])) is not None:
        machine.add("doctor", f"{found['backend']}, {'; '.join(found['devices'])[:200]}")

    updates = 10 if small else 300
    buffer = "2000" if small else "100000"
    for learner in ("td3", "sac"):
        benchmark = f"Updates 3x -learner {learner} -steps {updates} -buffer {buffer}"
        if (found := machine.bench(f"updates of {learner}", benchmark)) is not None:
            machine.add(f"updates of {learner}", f"{found['updates/s']:,.0f} updates/s; compiled in {found['compile-s']:.1f} s")

    times = []
    for individuals in (1, 50):
        stage = f"variation of {individuals}"
        found = machine.bench(stage, f"Updates 3x -learner variation -steps {5 if small else 100} -individuals {individuals}")
        if found is not None:
            times.append(found["best-s"])
            machine.add(stage, f"{1000 * found['best-s']:.1f} ms")
    if len(times) == 2:
        ratio = times[1] / times[0]
        machine.add("variation of 50 against 1", f"{ratio:.1f} times as long; at most {MOST} is required on an accelerator",
                    "ok" if ratio <= MOST or small else "FAIL")

    for env in envs:
        rollout(machine, env, batch, steps)

    peer(machine, "peer: updates of td3", ["updates.py", "td3", "--steps", str(updates)], "best_s", updates, "updates/s")
    peer(machine, "peer: updates of sac", ["updates.py", "sac", "--steps", str(updates)], "best_s", updates, "updates/s")
    for env in ("walker-uni", "ant-uni")[:1 if small else 2]:
        script = ["brax_rollout.py", env, "--batch", str(batch), "--steps", str(steps)]
        peer(machine, f"peer: rollout on {env}", script, "best_s", batch * steps, "env steps/s")


def check(machine: Machine, small: bool) -> None:
    """Compares with golden files and trains every family twice, several processes at a time: here times do not count."""
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 4)) as pool:
        waiting = [pool.submit(golden, machine, small)]
        waiting += [pool.submit(train_twice, machine, name, arguments) for name, arguments in trainings(small).items()]
        size = (16, 20) if small else (1000, 250)
        waiting.append(pool.submit(rollout, machine, "HalfCheetah-v5", *size, " while others ran"))
        try:
            for one in waiting:
                one.result()
        except BaseException:
            machine.stop()
            raise


def rollout(machine: Machine, env: str, batch: int, steps: int, when: str = "") -> None:
    if (found := machine.bench(f"rollout on {env}", f"Rollout 3x -env {env} -batch {batch} -steps {steps}")) is not None:
        machine.add(f"rollout on {env}", f"{found['env-steps/s']:,.0f} env steps/s{when}; compiled in {found['compile-s']:.1f} s")


def golden(machine: Machine, small: bool) -> None:
    files = ["onestep_pointmaze", "onestep_walker-uni", "onestep_ant-uni", "onestep_halfcheetah-uni", "traj_walker-uni"]
    files = files[:1] if small else files
    tests = f"TestGoldenSteps/.*/^({'|'.join(files)}).npz$"
    command = [os.path.join(machine.tests, "envs.test"), "-test.v", "-test.run", tests]
    if (text := machine.run("golden files", command, 240, {**machine.environment, "QDNB_GOLDEN": GOLDEN})) is not None:
        passed = text.count(".npz (") if " FAIL: " not in text else 0
        machine.add("golden files", f"{passed} of {len(files)} files PASS", "ok" if passed == len(files) else "FAIL")


def trainings(small: bool) -> dict[str, list[str]]:
    """The arguments of the trainings of both families and of later methods by name."""
    sizes = ["--set", "hidden=[8,8]", "--set", "cells=64", "--set", "cvt_samples=500"] if small else []
    found = {
        "neuroevolution": ["--algorithm", "map-elites", "--env", "pointmaze", "--generations", "2" if small else "20", *sizes,
                           *(["--set", "batch=16", "--set", "episode_length=20"] if small else [])],
        "reinforcement learning": ["--algorithm", "dads-reward", "--env", "walker-uni", "--env-steps", "200" if small else "3000", *sizes,
                                   *(["--set", "replay_buffer_size=1000", "--set", "batch_size=16", "--set", "evaluation_states=2",
                                      "--set", "episode_length=20"] if small else [])],
    }
    for name, text in LATER.items():
        found[name] = ["--algorithm", name, "--env"]
        for word in text.split() + ["cells=64", "cvt_samples=500"]:
            found[name] += ["--set", word] if "=" in word else [word]
    return found


def train_twice(machine: Machine, name: str, arguments: list[str]) -> None:
    """Trains a run twice from scratch and compares the bytes of what it learned."""
    sums = []
    for time_ in ("first", "second"):
        runs = os.path.join(machine.out, "runs", f"{name}-{time_}".replace(" ", "-"))
        command = ["train", *arguments, "--runs", runs, "--fresh", "--quiet"]
        found = machine.json(f"training by {name}, {time_} time", command, 240)
        if found is None:
            return
        machine.add(f"training by {name}, {time_} time", f"{found['env_steps']} env steps in {found['seconds']:.1f} s, "
                    f"{found['compile_seconds']:.1f} s of them compiling")
        digest = hashlib.sha256()
        for file in FILES:
            path = os.path.join(found["run"], file)
            if os.path.exists(path):
                with open(path, "rb") as data:
                    digest.update(data.read())
        sums.append(digest.hexdigest())
    same = sums[0] == sums[1]
    machine.add(f"bytes of {name}", f"sha256 {sums[0][:16]}" + ("" if same else f", then {sums[1][:16]}"), "ok" if same else "FAIL")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("qdnb")
    parser.add_argument("--backend", default="cuda", choices=("cuda", "tpu", "cpu"))
    parser.add_argument("--out", default="build/accelerator")
    parser.add_argument("--seconds", type=float, default=480)
    options = parser.parse_args()
    machine = Machine(options.qdnb, options.backend, options.out, options.seconds)
    try:
        measure(machine, options.backend == "cpu")
        check(machine, options.backend == "cpu")
    except KeyboardInterrupt:
        print(f"stopped; the results so far are in {options.out}")
        return 130
    failed = [row for row in machine.rows if row[2] == "FAIL"]
    print(f"{len(machine.rows)} results, {len(failed)} failed; summary in {os.path.join(options.out, 'summary.md')}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
