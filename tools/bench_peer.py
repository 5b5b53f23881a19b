"""bench_peer.py [--rounds N] [--only CASE] [--record | --check] QDNB STAGE...: times qdnb and the same work in JAX,
alternating, and prints the ratios.

Stages, in this order:

  generation  MAP-Elites on pointmaze, including variation and insertion; tools/peer/map_elites.py
  rollout     a population of policies in each robot's environment; tools/peer/brax_rollout.py
  updates     the gradient updates of a learner; tools/peer/updates.py
  insertion   candidates into a full repertoire; tools/peer/insertion.py
  adaptation  policies under multiples of gravity; tools/peer/brax_adaptation.py

The peer runs the population at once ("whole") and in slices. Its best slice is searched once per line; then every round runs qdnb,
the peer's whole and its slices. Machines drift: a ratio (the peer's seconds divided by qdnb's) is taken within a round, and the
medians over the rounds are printed. --record writes them to the ledger, docs/performance.csv. --check compares them with the ledger
and fails if a ratio got worse.
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
import time

import ledger
from statusline import StatusLine, duration

TOOLS = os.path.dirname(os.path.abspath(__file__))
WHOLE = 0


@dataclasses.dataclass(frozen=True)
class Stage:
    """A kind of work, measured in each of its cases. Work is the product of the report fields `size`; its rate has the unit `unit`."""

    title: str
    cases: tuple[str, ...]  # {case} in a command
    ours: str  # arguments of qdnb
    ours_seconds: dict[str, str]  # report field by measure
    venv: str  # of the peer, in .tools
    peer: str  # script in tools/peer and its arguments
    peer_seconds: dict[str, str]
    search: str  # arguments of a peer's run that searches for the best slice
    slices: tuple[int, ...]  # candidates of the search
    shown: tuple[int, ...] = (WHOLE,)  # always shown, besides the best slice
    size: tuple[str, ...] = ("batch", "steps")
    unit: str = "env steps/s"


STAGES = {
    "generation": Stage(
        title="a generation of MAP-Elites, 1000 policies of 2 x 256 units for 250 steps; median of 5",
        cases=("pointmaze",),
        ours="bench generation --env {case} --generations 5 --json",
        ours_seconds={"running": "generation_s"},
        venv="peer-jax",
        peer="map_elites.py --generations 5",
        peer_seconds={"running": "median_s"},
        search="--generations 2",
        slices=(4, 8, 20),
    ),
    "rollout": Stage(
        title="256 policies of 2 x 256 units for 250 steps; best of 3 runs",
        cases=("ant-uni", "walker-uni", "halfcheetah-uni", "ant-omni", "ant-trap", "ant-maze", "hopper-uni", "humanoid-uni"),
        ours="bench rollout --env {case} --batch 256 --steps 250 --json",
        ours_seconds={"running": "best_s"},
        venv="peer-brax",
        peer="brax_rollout.py {case} --batch 256 --steps 250",
        peer_seconds={"running": "best_s"},
        search="--repeats 1",
        slices=(2, 4, 8, 16, 32),
        shown=(WHOLE, 16),
    ),
    "updates": Stage(
        title="300 updates with batches of 256, networks of 2 x 256 units; best of 3 runs",
        cases=("td3", "sac"),
        ours="bench updates --learner {case} --steps 300 --json",
        ours_seconds={"running": "best_s"},
        venv="peer-jax",
        peer="updates.py {case} --steps 300",
        peer_seconds={"running": "best_s"},
        search="",
        slices=(),
        size=("steps",),
        unit="updates/s",
    ),
    "insertion": Stage(
        title="1000 candidates of which so many are better than all of 1024 occupants, ant-uni's policies; best of 20",
        cases=("50", "1000"),
        ours="bench insertion --better {case} --json",
        ours_seconds={"running": "best_s"},
        venv="peer-jax",
        peer="insertion.py {case}",
        peer_seconds={"running": "best_s"},
        search="",
        slices=(),
        size=("batch",),
        unit="candidates/s",
    ),
    "adaptation": Stage(
        title="64 policies of 2 x 256 units, 4 episodes of 250 steps each under 5 values of gravity; best of 3 runs, or the first",
        cases=("ant-uni",),
        ours="bench adaptation --env {case} --policies 64 --episodes 4 --values 5 --json",
        ours_seconds={"running": "best_s", "with compilation": "whole_s"},
        venv="peer-brax",
        peer="brax_adaptation.py {case} --policies 64 --episodes 4 --values 5",
        peer_seconds={"running": "best_s", "with compilation": "whole_s"},
        search="--repeats 1",
        slices=(8, 16, 32),
        size=("policies", "episodes", "values", "steps"),
    ),
}


class Failure(Exception):
    """A one-line description of which side failed at what."""


@dataclasses.dataclass(frozen=True)
class Timing:
    seconds: dict[str, float]  # by measure
    work: int
    by: str  # the backend, or the peer


class Bench:
    """Runs both sides of a stage and reports on stderr what it waits for."""

    def __init__(self, name: str, cases: list[str], rounds: int, qdnb: str, status: StatusLine) -> None:
        self.name, self.stage, self.cases, self.rounds = name, STAGES[name], cases, rounds
        self.qdnb, self.status = os.path.abspath(qdnb), status
        self.start, self.done = time.monotonic(), 0
        self.runs = len(cases) * (1 + len(self.stage.slices) + rounds * (2 + len(self.stage.shown)))  # at most

    def ours(self, case: str, doing: str) -> Timing:
        command = [self.qdnb, *self.stage.ours.format(case=case).split()]
        return self._run(command, self.stage.ours_seconds, f"{case}, {doing}: qdnb")

    def peer(self, case: str, size: int, doing: str, *extra: str) -> Timing:
        python = os.path.join(os.path.dirname(TOOLS), ".tools", self.stage.venv, "bin", "python")
        script, *args = self.stage.peer.format(case=case).split()
        command = [python, os.path.join(TOOLS, "peer", script), *args, *(("--chunk", str(size)) if size else ()), *extra]
        return self._run(command, self.stage.peer_seconds, f"{case}, {doing}: peer, {slicing(size)}")

    def _run(self, command: list[str], seconds: dict[str, str], doing: str) -> Timing:
        doing = f"{self.name}, {doing}"
        # The peers run JAX on the CPU, so qdnb uses the CPU, too, unless the caller says otherwise.
        environment = {"QDNB_BACKEND": "cpu", **os.environ}
        start = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        except OSError as error:
            raise Failure(f"{doing}: cannot start {command[0]}: {error.strerror}") from None
        with process:
            while True:
                now = time.monotonic()
                left = (start - self.start) / self.done * (self.runs - self.done) - (now - start) if self.done > 1 else 0
                self.status.show(f"{doing}, {duration(now - start)}" + (f"; about {duration(left)} left" if left > 0 else ""))
                try:
                    out, err = process.communicate(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    pass
                except BaseException:
                    process.kill()
                    raise
        if process.returncode:
            said = [line.strip() for line in err.splitlines() if line.strip()] or ["it said nothing"]
            raise Failure(f"{doing} failed with status {process.returncode}: {said[-1]}")
        try:
            report = json.loads(out.strip().splitlines()[-1])
            work = math.prod(int(report[field]) for field in self.stage.size)
            took = {name: float(report[field]) for name, field in seconds.items()}
            timing = Timing(took, work, report["peer" if "peer" in report else "backend"])
        except (ValueError, KeyError, IndexError, TypeError):
            raise Failure(f"{doing} did not print a last line of JSON with {', '.join((*seconds.values(), *self.stage.size))}") from None
        for name, field in seconds.items():
            if not 0 < took[name] < math.inf:
                raise Failure(f"{doing} reports {field} = {took[name]}, which is not a time")
        self.done += 1
        return timing

    def best_slice(self, case: str) -> int:
        took = {size: self.peer(case, size, "looking for the peer's best slice", *self.stage.search.split()) for size in self.stage.slices}
        return min(took, key=lambda size: next(iter(took[size].seconds.values())), default=WHOLE)

    def measure(self, case: str) -> tuple[int, list[Timing], dict[int, list[Timing]]]:
        """The peer's best slice, and per round the timings of qdnb and of the peer for each slice size shown."""
        self.ours(case, "a first run")  # not counted: failures should appear before the slice search
        best = self.best_slice(case)
        ours: list[Timing] = []
        peers: dict[int, list[Timing]] = collections.defaultdict(list)
        for r in range(self.rounds):
            doing = f"round {r + 1} of {self.rounds}"
            ours.append(self.ours(case, doing))
            for size in dict.fromkeys((*self.stage.shown, best)):
                peers[size].append(self.peer(case, size, doing))
                if peers[size][-1].work != ours[-1].work:
                    raise Failure(f"{self.name}, {case}: qdnb did {ours[-1].work} steps and the peer {peers[size][-1].work}: they are not the same work")
        return best, ours, dict(peers)


def slicing(size: int) -> str:
    return f"slices of {size}" if size else "whole"


def print_row(case: str, side: str, unit: float, seconds: list[float], ratios: ledger.Row | None = None) -> None:
    median = statistics.median(seconds)
    row = f"  {case:<26} {side:<26} {median:>8.3g}  {unit / median:>12,.0f}"
    if ratios:
        row += f"  {ratios.ratio:>6.2f}  {ratios.low:.2f} to {ratios.high:.2f}"
    print(row, flush=True)


def run_stage(bench: Bench, about: dict[str, str]) -> list[ledger.Row]:
    """Measures the cases of a stage, prints the results and returns ledger rows."""
    stage, rounds = bench.stage, bench.rounds
    print(f"{bench.name}: {stage.title}; medians over {rounds} round{'s' if rounds > 1 else ''}")
    print(f"  {'case':<26} {'side':<26} {'seconds':>8}  {stage.unit:>12}  {'ratio':>6}  range over rounds", flush=True)
    found = []
    for case in bench.cases:
        best, ours, peers = bench.measure(case)
        bench.status.clear()
        for measure in stage.ours_seconds:
            mine = [t.seconds[measure] for t in ours]
            print_row(case if measure == "running" else f"{case}, {measure}", "qdnb", ours[0].work, mine)
            for size, timings in peers.items():
                against = "best slices" if size == best != WHOLE else slicing(size)
                theirs = [t.seconds[measure] for t in timings]
                row = ledger.row(bench.name, case, measure, against, size, mine, theirs, peer=timings[0].by, **about)
                print_row("", f"peer, {slicing(size)}{' (best)' if size == best else ''}", timings[0].work, theirs, row)
                if size in (WHOLE, best):
                    found.append(row)
    print(f"  qdnb on {ours[0].by}; peer {timings[0].by}; measured in {duration(time.monotonic() - bench.start)}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench-peer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", metavar="CASE", help="measure this case only; may be repeated")
    parser.add_argument("--record", action="store_true", help="record the ratios in docs/performance.csv and docs/performance.md")
    parser.add_argument("--check", action="store_true", help="compare the ratios with docs/performance.csv")
    parser.add_argument("--tolerance", type=float, default=0.2, help="with --check: allowed drop of a ratio below the recorded rounds")
    parser.add_argument("qdnb", help="the binary")
    parser.add_argument("stages", nargs="+", choices=STAGES, metavar="STAGE", help=", ".join(STAGES))
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    chosen = {name: [c for c in STAGES[name].cases if not args.only or c in args.only] for name in dict.fromkeys(args.stages)}
    if unknown := set(args.only or ()) - {case for cases in chosen.values() for case in cases}:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(c for name in chosen for c in STAGES[name].cases)}")
    status, found = StatusLine(), []
    path = os.path.join(ledger.FOLDER, "performance.csv")
    try:
        about = {"machine": ledger.machine(), "qdnb": ledger.versions(os.path.abspath(args.qdnb))}
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
            print(f"{len(found) - len(unknown)} of {len(found)} ratios compared with {path}: none is lower by more than {args.tolerance:.0%}")
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
