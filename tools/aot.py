"""aot.py QDNB [--only TEXT] [--record]: compiles the programs of all kinds of runs for an H100 and a TPU v5e that are not there.

It writes the programs with `qdnb programs`, compiles each text once, and counts the nodes, which are kernels, copies and
collectives, that a run of the program executes, loop by loop. It compares them with docs/accelerators.csv and fails if a
program does not compile, executes more nodes, or waits more often for the host. --record writes that file; --only selects rows by
a part of "DEVICE RUN". Compiling everything takes about an hour on two cores; --work (build/aot) keeps compiled programs, so that an
interrupted command resumes.
"""

from __future__ import annotations

import argparse
import collections
import csv
import dataclasses
import hashlib
import json
import os
import re
import subprocess
import sys

TOOLS = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(os.path.dirname(TOOLS), "docs", "accelerators.csv")
# nodes are all that a run of the program executes, longest_loop is the iterations and nodes per iteration of the loop that
# executes most, waits are loops whose count only the device knows, compile_s is processor time.
HEADER = ("device", "run", "program", "nodes", "longest_loop", "waits", "compile_s")

ENVIRONMENTS = ("pointmaze", "ant-uni", "walker-uni", "halfcheetah-uni", "ant-trap", "ant-maze", "ant-omni")
RECORDS = os.path.join(os.path.dirname(TOOLS), "qdnb", "algorithms", "records", "records.go")
with open(RECORDS, encoding="utf-8") as records:
    ALGORITHMS = re.findall(r'\{Name: "([a-z0-9-]+)"', records.read())
DIFFERENTIABLE = ("cma-mega", "cma-maega")  # which need a task with gradients
# Algorithm, environment, and the number of devices.
RUNS = [
    *(("map-elites", env, 1) for env in ENVIRONMENTS),
    ("hierarchical-control", "halfcheetah-hurdles", 1),
    *((name, "sphere" if name in DIFFERENTIABLE else "ant-uni", 1) for name in ALGORITHMS if name != "map-elites"),
    ("adaptation", "ant-uni", 1),
    ("pga-aurora", "ant-uni", 2),
]
DEVICES = {"h100": "cuda", "v5e": "tpu"}

# Instructions that launch nothing.
FREE = {"parameter", "get-tuple-element", "tuple", "bitcast", "constant", "after-all", "partition-id", "replica-id", "opt-barrier",
        "domain"}


def computations(hlo: str) -> tuple[dict[str, list[tuple[str, str]]], str]:
    """Returns the instructions of each computation, as pairs of opcode and text, and the name of the entry computation."""
    found: dict[str, list[tuple[str, str]]] = {}
    current, entry = None, ""
    for line in hlo.splitlines():
        if head := re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{$", line):
            current = found.setdefault(head[2], [])
            entry = head[2] if head[1] else entry
        elif line.startswith("}"):
            current = None
        elif current is not None and (one := re.match(r"\s+(?:ROOT )?%?[\w.\-]+ = (.*)$", line)):
            if op := re.search(r"(?:^|[\s)}\]])([a-z][\w\-]*)\(", re.sub(r"/\*.*?\*/", "", one[1])):
                current.append((op[1], one[1]))
    return found, entry


@dataclasses.dataclass
class Count:
    nodes: int = 0  # executed by one run of a program
    loop: tuple[int, int] = (0, 0)  # iterations and nodes per iteration of the loop that executes most
    waits: int = 0  # loops whose count only the device knows, counted as one iteration


def count(hlo: str) -> Count:
    """Counts the nodes that a compiled program executes."""
    found, entry = computations(hlo)

    def called(text: str, name: str) -> str:
        match = re.search(name + r"=%?([\w.\-]+)", text)
        return match[1] if match else ""

    def walk(name: str) -> Count:
        total = Count()
        for op, text in found[name]:
            if op in FREE or op.endswith("-done"):
                continue
            if op == "call":
                inner, times = walk(called(text, "to_apply")), 1
            elif op == "while":
                inner = walk(called(text, "body"))
                trips = re.search(r'known_trip_count\W+n\W+(\d+)', text)
                if not trips:  # TPUs leave it to the condition
                    condition = found.get(called(text, "condition"), [])
                    bounds = [of for op, of in condition if op == "constant"]
                    if len(bounds) == 1 and any("direction=LT" in of for _, of in condition):
                        trips = re.search(r"constant\((\d+)\)", bounds[0])
                times = int(trips[1]) if trips else 1
                if not trips:
                    inner.waits += 1
                if times * inner.nodes > total.loop[0] * total.loop[1]:
                    total.loop = (times, inner.nodes)
                if inner.loop[0] * inner.loop[1] > times * inner.nodes:
                    total.loop = inner.loop
            else:
                total.nodes += 1
                continue
            if op == "call" and inner.loop[0] * inner.loop[1] > total.loop[0] * total.loop[1]:
                total.loop = inner.loop
            total.nodes += times * inner.nodes
            total.waits += inner.waits
        return total

    return walk(entry)


Row = collections.namedtuple("Row", ("device", "run", "program", "nodes", "loop", "waits", "seconds"))


def read(path: str) -> dict[tuple[str, str, str], Row]:
    """Returns the recorded rows by device, run and program."""
    with open(path, encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))[1:]
    return {tuple(c[:3]): Row(*c[:3], int(c[3]), c[4], int(c[5]), float(c[6])) for c in cells}


def write(path: str, rows: dict[tuple[str, str, str], Row]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *(rows[key] for key in sorted(rows))])


def worse(new: Row, old: Row | None) -> str:
    """Describes how a row is worse than the recorded one, or returns an empty string."""
    if old is None:
        return "not in the table: record it with make aot AOT_ARGS=--record"
    if new.nodes > old.nodes:
        return f"{new.nodes} nodes, {old.nodes} recorded"
    if new.waits > old.waits:
        return f"waits for the host {new.waits} times, {old.waits} recorded"
    return ""


def program(path: str) -> str:
    return os.path.basename(path).removesuffix(".mlir")


def digest(device: str, devices: int, path: str) -> str:
    """Returns the name of a compiled program: a hash of everything that its compilation depends on."""
    texts = []
    for name in (path, os.path.join(os.path.dirname(path), "xla_flags.txt"),
                 *(os.path.join(TOOLS, "peer", name) for name in ("aot.txt", "aot_compile.py", "h100.txtpb"))):
        with open(name, encoding="utf-8") as file:
            texts.append(file.read())
    replicas = devices if f"num_replicas = {devices}" in texts[0] else 1
    return hashlib.sha256("\0".join([device, str(replicas), *texts]).encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("qdnb")
    parser.add_argument("--only", default="")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--work", default="build/aot")
    parser.add_argument("--table", default=TABLE)
    options = parser.parse_args()
    flags = dict(os.environ)
    failures: list[str] = []

    def judge(key: tuple[str, str, str], found: dict) -> None:
        """Records or compares one compiled program."""
        if "error" in found:
            failures.append(f"{' '.join(key)}: {found['error']}")
            print("FAIL", failures[-1][:300], flush=True)
            return
        with open(found["hlo"], encoding="utf-8") as file:
            c = count(file.read())
        row = Row(*key, c.nodes, f"{c.loop[0]} x {c.loop[1]}" if c.loop[0] else "none", c.waits, found["seconds"])
        rows = read(options.table)
        reason = worse(row, rows.get(key))
        if options.record:
            rows[key] = row
            write(options.table, rows)
        elif reason:
            failures.append(f"{' '.join(key)}: {reason}")
        print(*row, "" if options.record else reason, flush=True)

    results = os.path.join(options.work, "compiled")
    os.makedirs(results, exist_ok=True)
    selected = False
    for device, kind in DEVICES.items():
        for algorithm, env, devices in RUNS:
            run = f"{algorithm} {env}" + (f" on {devices} devices" if devices > 1 else "")
            if options.only not in f"{device} {run}":
                continue
            selected = True
            folder = os.path.join(options.work, device, run.replace(" ", "-"))
            command = [options.qdnb, "programs", "--kind", kind, "--devices", str(devices), "--algorithm", algorithm, "--env", env,
                       "--out", folder]
            paths = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            with open(os.path.join(folder, "xla_flags.txt"), encoding="utf-8") as file:
                flags["XLA_FLAGS"] = file.read()
            todo: dict[str, str] = {}  # path of a text to the path of its result
            for path in paths:
                result = os.path.join(results, digest(device, devices, path) + ".json")
                if os.path.exists(result):
                    with open(result, encoding="utf-8") as file:
                        judge((device, run, program(path)), json.load(file))
                else:
                    todo[path] = result
            if not todo:
                continue
            compiler = [".tools/peer-aot/bin/python", os.path.join(TOOLS, "peer", "aot_compile.py"), device, str(devices), folder]
            with subprocess.Popen(compiler + list(todo), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env=flags) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    if not line.startswith("{"):
                        continue
                    found = json.loads(line)
                    result = todo.pop(found["path"])
                    if "error" not in found:
                        found["hlo"] = result.removesuffix(".json") + ".hlo"
                        os.replace(found["path"].removesuffix(".mlir") + ".hlo", found["hlo"])
                        with open(result + ".part", "w", encoding="utf-8") as file:
                            json.dump(found, file)
                        os.replace(result + ".part", result)
                    judge((device, run, program(found["path"])), found)
            failures += [f"{path}: the compiler ended" for path in sorted(todo)]
    if not selected:
        failures.append(f"no device and run contains {options.only!r}; for example h100 dms")
    for failure in failures:
        print("FAIL", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
