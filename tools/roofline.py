"""roofline.py PROGRAM [CASE...]: compares the stages of training with the machine's limits.

Measures the machine's peak rates (BenchmarkCeilings), runs each stage once while XLA dumps its programs, and counts in the
unoptimised program: operations of matrix products, other floating-point arithmetic, and the bytes of the weights that products read.
Loop bodies are multiplied by their iteration counts, loops over slices by the batch size; loops with data-dependent counts count once,
or as often as the case says. Each of the three has a minimum time, and their sum is a lower bound, because a core does one after the other:

  products    weights used for many rows at once: operations divided by the rate of products with 256 rows;
              for updates, whose program runs on all cores, of those that the cores share
  weights     weights used for few rows, as a policy's in a rollout: bytes divided by the cache bandwidth
  arithmetic  physics, activations, random numbers, optimisers: operations divided by the rate of arithmetic in registers

*reached* is that sum divided by the measured time. Only the table is written.
"""

from __future__ import annotations

import argparse
import dataclasses
import glob
import math
import os
import re
import subprocess
import sys
import tempfile

import gobench

# Number of rows per weight above which a product is not bound by reading the weights: a core does at least 32 multiply-adds
# while it reads a number from its cache.
MANY_ROWS = 32
ARITHMETIC = set(
    "add subtract multiply divide negate abs maximum minimum sqrt rsqrt exponential exponential-minus-one log log-plus-one tanh sine cosine"
    " power sign floor ceil round-nearest-afz round-nearest-even clamp logistic".split()
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A stage: the benchmark (see gobench.command), the module with the work, and the unit of work."""

    args: str
    module: str
    seconds: str  # field of the report
    units: tuple[str, ...]  # fields whose product is the number of units of work
    unit: str
    alone: bool = False  # one program for all cores, not one per slice of the batch
    unknown: float = 1  # average iterations of loops with data-dependent counts


ROLLOUT = "Rollout 25x -env {}"
CASES = {
    "rollout of ant-uni": Case(ROLLOUT.format("ant-uni"), "evaluation", "best-s", ("batch", "steps"), "step"),
    "rollout of walker-uni": Case(ROLLOUT.format("walker-uni"), "evaluation", "best-s", ("batch", "steps"), "step"),
    "rollout of halfcheetah-uni": Case(ROLLOUT.format("halfcheetah-uni"), "evaluation", "best-s", ("batch", "steps"), "step"),
    "rollout of ant-trap": Case(ROLLOUT.format("ant-trap"), "evaluation", "best-s", ("batch", "steps"), "step"),
    "rollout of ant-maze": Case(ROLLOUT.format("ant-maze"), "evaluation", "best-s", ("batch", "steps"), "step"),
    "generation on pointmaze": Case("Generation 5x -warmup 20 -env pointmaze", "generation", "generation-s", ("batch",), "policy"),
    "updates of TD3": Case("Updates 3x -learner td3 -steps 300", "updates", "best-s", ("steps",), "update", alone=True, unknown=0.5),  # the actor, every other time
    "updates of SAC": Case("Updates 3x -learner sac -steps 300", "updates", "best-s", ("steps",), "update", alone=True),
    "adaptation on ant-uni": Case(
        "Adaptation 3x -values 1", "evaluation", "best-s", ("batch", "values", "steps"), "step"
    ),
}


class Failure(Exception):
    """A one-line description of what could not be measured or counted."""


@dataclasses.dataclass
class Work:
    """The work of a program: operations, and bytes of weights."""

    products: float = 0
    arithmetic: float = 0
    weights: float = 0

    def add(self, other: Work, times: float = 1) -> None:
        self.products += other.products * times
        self.arithmetic += other.arithmetic * times
        self.weights += other.weights * times


@dataclasses.dataclass
class Instruction:
    name: str
    type: str
    op: str
    operands: list[str]
    rest: str

    def dims(self) -> list[int]:
        """Dimensions of the (first) array."""
        found = re.match(r"\(?\w+\[([\d,]*)\]", self.type)
        return [int(n) for n in found[1].split(",") if n] if found else []

    def size(self) -> int:
        return math.prod(self.dims())


LINE = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([a-z][\w-]*)\((.*)$")
HEAD = re.compile(r"^(?:ENTRY )?%?([\w.-]+)\s.*\{$")


def parse(text: str) -> tuple[dict[str, list[Instruction]], str]:
    """The computations of a module in HLO's text, and the name of the first one that runs."""
    computations: dict[str, list[Instruction]] = {}
    current, entry = None, ""
    for line in text.splitlines():
        if (head := HEAD.match(line)) and not line.startswith("HloModule"):
            current = computations.setdefault(head[1], [])
            if line.startswith("ENTRY"):
                entry = head[1]
        elif current is not None and (found := LINE.match(line)):
            name, kind, op, rest = found.groups()
            inside = rest.split(")", 1)[0]
            current.append(Instruction(name, kind, op, re.findall(r"%([\w.-]+)", inside), rest))
    if not entry:
        raise Failure("XLA wrote a module without an entry")
    return computations, entry


def reads_rows(i: Instruction, by_name: dict[str, Instruction]) -> bool:
    """Whether a loop takes rows of the kernels that it carries, [policies, rows, columns]."""
    source = by_name[i.operands[0]]
    dims, rows = source.dims(), i.dims()
    return (source.op == "get-tuple-element" and i.type.startswith("f32") and len(dims) == 3
            and dims[::2] == rows[::2] and 1 < rows[1] < dims[1])


class Counter:
    def __init__(self, text: str, unknown: float = 1) -> None:
        self.computations, self.entry = parse(text)
        self.unknown = unknown
        self.done: dict[str, Work] = {}

    def total(self) -> Work:
        return self.count(self.entry)

    def count(self, computation: str) -> Work:
        if computation in self.done:
            return self.done[computation]
        work = self.done[computation] = Work()
        by_name = {i.name: i for i in self.computations[computation]}
        for i in by_name.values():
            if i.op == "while":
                condition, body = re.search(r"condition=%?([\w.-]+)", i.rest), re.search(r"body=%?([\w.-]+)", i.rest)
                work.add(self.count(body[1]), self.turns(condition[1], i, by_name))
            elif i.op in ("call", "conditional"):
                for called in re.findall(r"(?:to_apply|\w+_computation)=%?([\w.-]+)", i.rest):
                    work.add(self.count(called))
            elif i.op == "dot":
                self.dot(work, i, by_name)
            elif i.op == "dynamic-slice" and reads_rows(i, by_name):
                work.weights += 4 * i.size()
                work.arithmetic -= 2 * i.size()  # a product and a sum of each number, counted below
            elif i.op == "reduce" and i.type.lstrip("(").startswith("f"):
                work.arithmetic += by_name[i.operands[0]].size()
            elif i.op in ARITHMETIC and i.type.startswith("f"):
                work.arithmetic += i.size()
        return work

    def dot(self, work: Work, i: Instruction, by_name: dict[str, Instruction]) -> None:
        dims = {side: [int(n) for n in m[1].split(",") if n] if (m := re.search(side + r"={([\d,]*)}", i.rest)) else []
                for side in ("lhs_contracting_dims", "lhs_batch_dims")}
        left, right = (by_name[name] for name in i.operands[:2])
        shared = math.prod(left.dims()[d] for d in dims["lhs_contracting_dims"])
        batch = math.prod(left.dims()[d] for d in dims["lhs_batch_dims"])
        work_here = 2 * i.size() * shared
        rows = min(left.size(), right.size()) // max(1, shared * batch)
        if rows < MANY_ROWS:
            work.weights += 4 * max(left.size(), right.size())
        else:
            work.products += work_here

    def turns(self, condition: str, loop: Instruction, outside: dict[str, Instruction]) -> float:
        """The iterations of a loop whose condition compares a counter from 0 with a constant, else the case's value."""
        inside = {i.name: i for i in self.computations[condition]}
        compare = next((i for i in inside.values() if i.op == "compare"), None)
        if compare is None or "direction=LT" not in compare.rest:  # a loop that repeats a step with all walls
            return self.unknown
        value = inside[compare.operands[1]]
        if value.op == "get-tuple-element":
            start = outside[loop.operands[0]]
            if start.op != "tuple":
                return self.unknown
            value = outside[start.operands[int(re.search(r"index=(\d+)", value.rest)[1])]]
        while value.op in ("copy", "convert", "reshape", "bitcast"):
            value = {**outside, **inside}[value.operands[0]]
        if value.op != "constant":
            return self.unknown  # a barrier of one iteration, an update that is not always due, one per insertion
        return float(re.match(r"([-\d.e+]+)", value.rest)[1])


def report(program: str, benchmark: str, **environment: str) -> dict:
    process = subprocess.run(gobench.command(program, benchmark), capture_output=True, text=True, env={"QDNB_BACKEND": "cpu", **os.environ, **environment}, check=False)
    if process.returncode:
        raise Failure(f"{benchmark} failed: {((process.stdout + process.stderr).strip().splitlines() or ['no output'])[-1]}")
    return gobench.parse(process.stdout)


def measure(program: str, case: Case) -> tuple[Work, dict]:
    """The work of one worker in one run of a case, and the benchmark's report."""
    with tempfile.TemporaryDirectory() as folder:
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_hlo_module_re={case.module}"
        found = report(program, case.args, XLA_FLAGS=flags.strip())
        texts = sorted(glob.glob(os.path.join(folder, f"*.{case.module}.before_optimizations.txt")))
        if not texts:
            raise Failure(f"XLA wrote no program named {case.module}")
        with open(texts[0], encoding="utf-8") as file:
            return Counter(file.read(), case.unknown).total(), found


def main() -> None:
    parser = argparse.ArgumentParser(prog="roofline")
    parser.add_argument("program", help="the benchmarks: go test -c ./bench")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; all if none is given")
    args = parser.parse_args()
    if unknown := set(args.cases) - set(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    program = os.path.abspath(args.program)
    try:
        top = report(program, "Ceilings 1x")
        workers = int(top["workers"])
        print(f"{top['backend']}, {workers} workers together: {top['products-gflops']:.0f} GFLOP/s of products"
              f" ({top['shared-gflops']:.0f} if shared), {top['arithmetic-gflops']:.0f} of arithmetic,"
              f" {top['cache-GB/s']:.0f} GB/s from the cache, {top['memory-GB/s']:.0f} from memory\n")
        print("| stage | unit | time, µs | products, MFLOP | weights, MB | arithmetic, kFLOP | lower bound, µs: products + weights + arithmetic | reached |")
        print("|" + "---|" * 8, flush=True)
        for name in args.cases or CASES:
            case = CASES[name]
            work, found = measure(program, case)
            units = math.prod(found[field] for field in case.units)
            programs = 1 if case.alone else math.ceil(found["batch"] / found["slice"])  # the loop over slices is counted once
            each = {k: v * programs / units for k, v in dataclasses.asdict(work).items()}
            took = 1e6 * found[case.seconds] / units
            products = "shared-gflops" if case.alone else "products-gflops"
            least = [each[what] / top[rate] / 1e3 for what, rate in
                     (("products", products), ("weights", "cache-GB/s"), ("arithmetic", "arithmetic-gflops"))]
            parts = " + ".join(f"{x:.3g}" for x in least)
            print(f"| {name} | {case.unit} | {took:.3g} | {each['products'] / 1e6:.3g} | {each['weights'] / 1e6:.3g} | {each['arithmetic'] / 1e3:.3g}"
                  f" | {sum(least):.3g}: {parts} | {sum(least) / took:.0%} |", flush=True)
        for better in (50, 1000) if not args.cases else ():
            found = report(program, f"Insertion 20x -better {better}")
            moved, took = 8 * found["entered"] * found["params"] / 1e6, 1e3 * found["best-s"]  # read and written
            least = moved / top["memory-GB/s"]
            print(f"\ninsertion of {found['entered']:.0f} of {found['batch']:.0f} candidates: {moved:.0f} MB read and written in {took:.2f} ms,"
                  f" at least {least:.2f}: {least / took:.0%}")
    except Failure as failure:
        sys.exit(f"roofline: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
