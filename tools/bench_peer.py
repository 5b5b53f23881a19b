"""bench_peer.py [--rounds N] [--only CASE] [--record | --check] QDNB STAGE...: times qdnb and the same work in
JAX or another simulator, alternating, and prints the ratios and the peak memory of both processes.

Stages, in this order:

  generation  MAP-Elites on pointmaze, including variation and insertion; tools/peer/map_elites.py
  qdax        the same by QDax itself, and on a walker; tools/peer/qdax_map_elites.py
  rollout     a population of policies in each robot's environment; tools/peer/brax_rollout.py
  updates     the gradient updates of a learner; tools/peer/updates.py
  insertion   candidates into a full repertoire; tools/peer/insertion.py
  adaptation  policies under multiples of gravity; tools/peer/brax_adaptation.py
  simulator   the work of a rollout in MuJoCo, with other physics; tools/peer/mujoco_rollout.py
  evolution   MAP-Elites on a walker, by pyribs with MuJoCo; tools/peer/mujoco_map_elites.py
  workers     the same with a number of threads
  robots      the physics of a robot alone, by the same equations in MuJoCo; tools/peer/mujoco_robots.py
  policies    the same with a policy in each copy, and tracking of commanded velocities
  gymnasium   a population of policies in Gymnasium's tasks, the same in EnvPool; tools/peer/mujoco_rollout.py

A peer has variants, such as the population as a whole, and may run slices of it. Its best slice is searched
once per line; then every round runs qdnb, the peer's variants and its best slices. Machines drift: a ratio
(the peer's seconds divided by qdnb's) is taken within a round, and the medians over the rounds are printed.
--record appends them to the ledger, docs/performance.csv. --check compares them with the ledger and fails if
a ratio got worse.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import gobench
import ledger
from statusline import StatusLine, duration

TOOLS = os.path.dirname(os.path.abspath(__file__))
WHOLE = {"whole": ""}


@dataclasses.dataclass(frozen=True)
class Stage:
    """A kind of work, measured in each of its cases. Work is the product of the report
    fields `size`; its rate has the unit `unit`."""

    title: str
    cases: tuple[str, ...]  # {case} in a command
    ours: str  # benchmark, see gobench.command
    venv: str  # of the peer, in .tools
    peer: str  # script in tools/peer and its arguments
    ours_seconds: dict[str, str] = dataclasses.field(default_factory=lambda: {"running": "best-s"})  # field by measure
    peer_seconds: dict[str, str] = dataclasses.field(default_factory=lambda: {"running": "best_s"})
    search: str = ""  # arguments of a peer's run that searches for the best slice
    slices: tuple[int, ...] = ()  # candidates of the search
    variants: dict[str, str] = dataclasses.field(default_factory=lambda: WHOLE)  # name: arguments
    environment: dict[str, str] = dataclasses.field(default_factory=dict)  # of qdnb
    size: tuple[str, ...] = ("batch", "steps")
    unit: str = "env steps/s"


# By case of the stages robots and policies: the compiled model, control steps of a second, physics steps of one, the
# geoms that alone touch the floor, and qdnb's task, of which the peer has the physics.
ROBOTS = {
    "go1-feet": ("envs/robots/go1.json", 50, 5, "FR,FL,RR,RL", ""),
    "go1-velocity": ("envs/robots/go1.json", 50, 5, "FR,FL,RR,RL", "velocity"),
    **{
        name: (f"envs/robots/gymnasium/{name}.json", steps, substeps, "", "")
        for name, steps, substeps in (
            ("ant", 20, 5),
            ("half_cheetah", 20, 5),
            ("hopper", 125, 4),
            ("walker2d", 125, 4),
            ("humanoid", 67, 5),
        )
    },
}

# Variants of the peers that step MuJoCo's robots.
SIMULATORS = {
    "EnvPool, no policies": "--simulator envpool",
    "mjbatch, no policies": "--simulator mjbatch",
    "EnvPool, policies in NumPy": "--simulator envpool --hidden 256",
    "mjbatch, policies in NumPy": "--simulator mjbatch --hidden 256 --chunk 16",
}

STAGES = {
    "generation": Stage(
        title="a generation of MAP-Elites, 1000 policies of 2 x 256 units for 250 steps; median of 5",
        cases=("pointmaze",),
        ours="Generation 5x -warmup 20 -env {case}",
        ours_seconds={"running": "generation-s"},
        venv="peer-jax",
        peer="map_elites.py --generations 5",
        peer_seconds={"running": "median_s"},
        search="--generations 2",
        slices=(4, 8, 20),
    ),
    "qdax": Stage(
        title="a generation of MAP-Elites, 1000 policies of 2 x 256 units for 250 steps; median of 5, the peer's of 2",
        cases=("pointmaze", "walker-uni"),
        ours="Generation 5x -warmup 20 -env {case}",
        ours_seconds={"running": "generation-s"},
        venv="peer-qdax",
        peer="qdax_map_elites.py {case} --generations 2",
        peer_seconds={"running": "median_s"},
        search="--generations 1 --batch 200",
        slices=(4, 8, 20),
    ),
    "rollout": Stage(
        title="256 policies of 2 x 256 units for 250 steps; best of 3 runs",
        cases=(
            "ant-uni",
            "walker-uni",
            "halfcheetah-uni",
            "ant-omni",
            "ant-trap",
            "ant-maze",
            "hopper-uni",
            "humanoid-uni",
        ),
        ours="Rollout 3x -env {case}",
        venv="peer-brax",
        peer="brax_rollout.py {case} --batch 256 --steps 250",
        search="--repeats 1",
        slices=(2, 4, 8, 16, 32),
    ),
    "updates": Stage(
        title="300 updates with batches of 256, networks of 2 x 256 units; best of 3 runs",
        cases=("td3", "sac"),
        ours="Updates 3x -learner {case} -steps 300",
        venv="peer-jax",
        peer="updates.py {case} --steps 300",
        size=("steps",),
        unit="updates/s",
    ),
    "insertion": Stage(
        title="1000 candidates of which so many are better than all of 1024 occupants, ant-uni's policies; best of 20",
        cases=("50", "1000"),
        ours="Insertion 20x -better {case}",
        venv="peer-jax",
        peer="insertion.py {case}",
        size=("batch",),
        unit="candidates/s",
    ),
    "adaptation": Stage(
        title="64 policies of 2 x 256 units, 4 episodes of 250 steps each under 5 values of gravity; "
        "best of 3 runs, or the first",
        cases=("ant-uni",),
        ours="Adaptation 3x -env {case}",
        ours_seconds={"running": "best-s", "with compilation": "whole-s"},
        venv="peer-brax",
        peer="brax_adaptation.py {case} --policies 64 --episodes 4 --values 5",
        peer_seconds={"running": "best_s", "with compilation": "whole_s"},
        search="--repeats 1",
        slices=(8, 16, 32),
        size=("policies", "episodes", "values", "steps"),
    ),
    "simulator": Stage(
        title="256 environments for 250 steps, qdnb with policies of 2 x 256 units; "
        "the peers simulate other physics; one run",
        cases=("ant-uni", "walker-uni", "halfcheetah-uni"),
        ours="Rollout 3x -env {case}",
        venv="peer-mujoco",
        peer="mujoco_rollout.py {case}",
        variants=SIMULATORS,
    ),
    "evolution": Stage(
        title="a generation of MAP-Elites on walkers, 1000 policies for 250 steps; "
        "the peer simulates other physics; median of 5, the peer's first",
        cases=("64 units", "256 units"),
        ours="Generation 5x -warmup 20 -env walker-uni -set hidden=[{n},{n}]",
        ours_seconds={"running": "generation-s"},
        venv="peer-mujoco",
        peer="mujoco_map_elites.py --hidden {n} --generations 1",
        peer_seconds={"running": "median_s"},
        search="--batch 128",
        slices=(8, 32),
        variants={},
    ),
    "workers": Stage(
        title="the same, 500 policies with 64 units, on a number of workers and threads",
        cases=("1 worker", "2 workers", "8 workers"),
        ours="Generation 5x -warmup 20 -env walker-uni -set hidden=[64,64] -set batch=500",
        ours_seconds={"running": "generation-s"},
        venv="peer-mujoco",
        peer="mujoco_map_elites.py --hidden 64 --batch 500 --generations 1 --threads {n}",
        peer_seconds={"running": "median_s"},
        variants={"slices of 8": "--chunk 8"},
        environment={"QDNB_WORKERS": "{n}"},
    ),
    "robots": Stage(
        title="the physics of 512 copies for a second, random starts and gaits, solved to convergence; "
        "best of 5 runs, the peer's only one",
        cases=tuple(name for name, (*_, task) in ROBOTS.items() if not task),
        ours="Robot 5x -env {model} -steps {steps} -substeps {substeps} -touch={touch}",
        venv="peer-mujoco",
        peer="mujoco_robots.py {model} --steps {steps} --substeps {substeps} --touch={touch}",
        variants={"mujoco.rollout": "--simulator rollout", "mjbatch": "--simulator mjbatch"},
        unit="control steps/s",
    ),
    "policies": Stage(
        title="the same with 256 policies of 2 x 256 units, the peer's in NumPy",
        cases=tuple(ROBOTS),
        ours="Rollout 3x -env {model} -steps {steps} -substeps {substeps} -touch={touch} -task={task}",
        venv="peer-mujoco",
        peer="mujoco_robots.py {model} --steps {steps} --substeps {substeps} --touch={touch} --batch 256 --hidden 256",
        variants={"mjbatch, policies in NumPy": "--simulator mjbatch --chunk 16"},
        unit="control steps/s",
    ),
    "gymnasium": Stage(
        title="256 policies of 2 x 256 units in Gymnasium's tasks for 250 steps, with or without policies in the peers; "
        "best of 3 runs, the peers' only one",
        cases=("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Swimmer-v5", "Ant-v5", "Humanoid-v5"),
        ours="Rollout 3x -env {case}",
        venv="peer-mujoco",
        peer="mujoco_rollout.py {case}",
        variants=SIMULATORS,
        unit="control steps/s",
    ),
}


class Failure(Exception):
    """A one-line description of which side failed at what."""


@dataclasses.dataclass(frozen=True)
class Timing:
    seconds: dict[str, float]  # by measure
    work: int
    by: str  # the backend, or the peer
    memory: int  # peak, bytes


class Bench:
    """Runs both sides of a stage and reports on stderr what it waits for."""

    def __init__(self, name: str, cases: list[str], rounds: int, qdnb: str, status: StatusLine) -> None:
        self.name, self.stage, self.cases, self.rounds = name, STAGES[name], cases, rounds
        self.program, self.status = os.path.join(os.path.dirname(os.path.abspath(qdnb)), "bench.test"), status
        self.start, self.done = time.monotonic(), 0
        self.runs = len(cases) * (
            1 + len(self.stage.slices) + rounds * (1 + len(self.stage.variants) + bool(self.stage.slices))
        )

    def ours(self, case: str, doing: str) -> Timing:
        command = gobench.command(self.program, fill(self.stage.ours, case))
        # The peers use the CPU, so qdnb does, too, unless the caller says otherwise.
        environment = {
            "QDNB_BACKEND": "cpu",
            **os.environ,
            **{k: fill(v, case) for k, v in self.stage.environment.items()},
        }
        return self._run(command, environment, self.stage.ours_seconds, f"{case}, {doing}: qdnb")

    def peer(self, case: str, variant: str, args: str, doing: str) -> Timing:
        python = os.path.join(os.path.dirname(TOOLS), ".tools", self.stage.venv, "bin", "python")
        script, *common = fill(self.stage.peer, case).split()
        command = [python, os.path.join(TOOLS, "peer", script), *common, *args.split()]
        return self._run(
            command, dict(os.environ), self.stage.peer_seconds, f"{case}, {doing}: peer, {variant}"
        )

    def _run(
        self, command: list[str], environment: dict[str, str], seconds: dict[str, str], doing: str
    ) -> Timing:
        doing, start = f"{self.name}, {doing}", time.monotonic()
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            try:
                process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
            except OSError as error:
                raise Failure(f"{doing}: cannot start {command[0]}: {error.strerror}") from None
            try:
                while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
                    now = time.monotonic()
                    left = (
                        (start - self.start) / self.done * (self.runs - self.done) - (now - start)
                        if self.done > 1
                        else 0
                    )
                    self.status.show(
                        f"{doing}, {duration(now - start)}"
                        + (f"; about {duration(left)} left" if left > 0 else "")
                    )
                    time.sleep(0.2)
            except BaseException:
                process.kill()
                process.wait()
                raise
            process.returncode = os.waitstatus_to_exitcode(ended[1])
            memory = ended[2].ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            printed, said = (
                [line.strip() for line in (file.seek(0), file.read())[1].splitlines() if line.strip()]
                for file in (out, err)
            )
        if process.returncode:
            raise Failure(
                f"{doing} failed with status {process.returncode}: {(said or ['it said nothing'])[-1]}"
            )
        try:
            report = gobench.parse("\n".join(printed)) or json.loads(printed[-1])
            work = math.prod(int(report[field]) for field in self.stage.size)
            took = {name: float(report[field]) for name, field in seconds.items()}
            timing = Timing(took, work, report["peer" if "peer" in report else "backend"], memory)
        except (ValueError, KeyError, IndexError, TypeError):
            raise Failure(
                f"{doing} did not print a benchmark or a last line of JSON with {', '.join((*seconds.values(), *self.stage.size))}"
            ) from None
        for name, field in seconds.items():
            if not 0 < took[name] < math.inf:
                raise Failure(f"{doing} reports {field} = {took[name]}, which is not a time")
        self.done += 1
        return timing

    def variants(self, case: str) -> tuple[str, dict[str, str]]:
        """The name of the peer's best slices, empty if it runs none, and the arguments of all its variants."""
        chunks = {f"slices of {size}": f"--chunk {size}" for size in self.stage.slices}
        took = {
            name: self.peer(case, name, f"{args} {self.stage.search}", "looking for the peer's best slice")
            for name, args in chunks.items()
        }
        best = min(took, key=lambda name: next(iter(took[name].seconds.values())), default="")
        return best, {**self.stage.variants, **({best: chunks[best]} if best else {})}

    def measure(self, case: str) -> tuple[str, list[Timing], dict[str, list[Timing]]]:
        """The peer's best slices, and per round the timings of qdnb and of the peer's variants."""
        self.ours(case, "a first run")  # not counted: failures should appear before the slice search
        best, variants = self.variants(case)
        ours: list[Timing] = []
        peers: dict[str, list[Timing]] = collections.defaultdict(list)
        for r in range(self.rounds):
            doing = f"round {r + 1} of {self.rounds}"
            ours.append(self.ours(case, doing))
            for name, args in variants.items():
                peers[name].append(self.peer(case, name, args, doing))
                if peers[name][-1].work != ours[-1].work:
                    raise Failure(
                        f"{self.name}, {case}: qdnb did {ours[-1].work} steps and the peer {peers[name][-1].work}: "
                        "they are not the same work"
                    )
        return best, ours, dict(peers)


def fill(text: str, case: str) -> str:
    """Replaces {case}, {n} by the number that a case begins with, and what ROBOTS has of a robot."""
    words = {"case": case, "n": case.split()[0]}
    if case in ROBOTS:
        model, *others = ROBOTS[case]
        words["model"] = os.path.join(os.path.dirname(TOOLS), model)
        words |= zip(("steps", "substeps", "touch", "task"), map(str, others))
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


def print_row(
    case: str, side: str, timings: list[Timing], measure: str, ratios: ledger.Row | None = None
) -> None:
    median = statistics.median(t.seconds[measure] for t in timings)
    row = f"  {case:<26} {side:<33} {median:>8.3g}  {timings[0].work / median:>12,.0f}  {peak(timings):>6}"
    if ratios:
        row += f"  {ratios.ratio:>6.2f}  {ratios.low:.2f} to {ratios.high:.2f}"
    print(row, flush=True)


def peak(timings: list[Timing]) -> int:
    """The median peak memory in MB."""
    return round(statistics.median(t.memory for t in timings) / 1e6)


def run_stage(bench: Bench, about: dict[str, str]) -> list[ledger.Row]:
    """Measures the cases of a stage, prints the results and returns ledger rows."""
    stage, rounds = bench.stage, bench.rounds
    print(f"{bench.name}: {stage.title}; medians over {rounds} round{'s' if rounds > 1 else ''}")
    print(
        f"  {'case':<26} {'side':<33} {'seconds':>8}  {stage.unit:>12}  {'MB':>6}  {'ratio':>6}  range over rounds",
        flush=True,
    )
    found = []
    for case in bench.cases:
        best, ours, peers = bench.measure(case)
        bench.status.clear()
        for measure in stage.ours_seconds:
            print_row(case if measure == "running" else f"{case}, {measure}", "qdnb", ours, measure)
            for name, timings in peers.items():
                row = ledger.row(
                    bench.name,
                    case,
                    measure,
                    "best slices" if name == best else name,
                    int(name.split()[-1]) if name == best else 0,
                    *([t.seconds[measure] for t in side] for side in (ours, timings)),
                    qdnb_mb=peak(ours),
                    peer_mb=peak(timings),
                    peer=timings[0].by,
                    **about,
                )
                print_row("", f"peer, {name}{' (best)' if name == best else ''}", timings, measure, row)
                found.append(row)
    print(
        f"  qdnb on {ours[0].by}; peer {timings[0].by}; measured in {duration(time.monotonic() - bench.start)}",
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench-peer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", action="append", metavar="CASE", help="measure this case only; may be repeated"
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="record the ratios in docs/performance.csv and docs/performance.md",
    )
    parser.add_argument("--check", action="store_true", help="compare the ratios with docs/performance.csv")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.2,
        help="with --check: allowed drop of a ratio below the recorded rounds",
    )
    parser.add_argument("qdnb", help="the binary, next to bench.test (`make bench-peer` builds both)")
    parser.add_argument("stages", nargs="+", choices=STAGES, metavar="STAGE", help=", ".join(STAGES))
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    chosen = {
        name: [c for c in STAGES[name].cases if not args.only or c in args.only]
        for name in dict.fromkeys(args.stages)
    }
    if unknown := set(args.only or ()) - {case for cases in chosen.values() for case in cases}:
        parser.error(
            f"no case {', '.join(sorted(unknown))}; there are {', '.join(c for name in chosen for c in STAGES[name].cases)}"
        )
    status, found = StatusLine(), []
    path = os.path.join(ledger.FOLDER, "performance.csv")
    try:
        about = {
            "machine": ledger.machine(),
            "commit": ledger.commit(),
            "qdnb": ledger.versions(os.path.abspath(args.qdnb)),
        }
        recorded = ledger.read(path)  # fail before measuring if it cannot be read
        for name, cases in chosen.items():
            if cases:
                rows = run_stage(Bench(name, cases, args.rounds, args.qdnb, status), about)
                found += rows
                if args.record:
                    ledger.record(rows)
        if args.check:
            slower, unknown = ledger.regressions(recorded, found, args.tolerance)
            for line in unknown:
                print(f"not compared: {line}")
            if slower:
                raise Failure("slower compared with the peer than recorded: " + "; ".join(slower))
            print(
                f"{len(found) - len(unknown)} of {len(found)} ratios compared with {path}: "
                f"none is lower by more than {args.tolerance:.0%}"
            )
    except (ledger.Damaged, subprocess.CalledProcessError) as error:
        status.clear()
        sys.exit(f"bench-peer: {error}")
    except Failure as failure:
        status.clear()
        sys.exit(f"bench-peer: {failure}")
    except KeyboardInterrupt:
        status.clear()
        sys.exit(130)


if __name__ == "__main__":
    main()
