"""The performance ledger: measured speed ratios to the peers, kept in the repository and compared with new ones.

A row is a measurement of a case of a stage on a kind of machine. docs/performance.csv contains all rows in
the order of their dates, and docs/performance.md shows the newest of each case in a table between two
comments. Times are informative; ratios are compared, because they depend less on a machine's clock and
load. Rows of `make test` have no peer.

ledger.py [--record] STEP COMMAND...: runs a step of `make test` and says how long it took; --record appends a
row.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import json
import os
import statistics
import subprocess
import sys
import textwrap
import time

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")
BEGIN, END = "<!-- ledger: written by make bench-peer BENCH_ARGS=--record -->", "<!-- end of ledger -->"


class Damaged(Exception):
    """A one-line description of what cannot be read in the ledger."""


@dataclasses.dataclass(frozen=True)
class Row:
    machine: str
    stage: str
    case: str
    measure: str  # measure: "running" or "with compilation"
    against: str  # the peer "whole", in its "best slices", or another variant; empty without a peer
    slicing: int  # 0: whole
    rounds: int
    qdnb_s: float  # medians
    peer_s: float
    ratio: float  # median over the rounds
    low: float
    high: float
    qdnb_mb: int  # peak memory, medians; 0: not measured
    peer_mb: int
    date: str
    commit: str
    qdnb: str  # versions
    peer: str

    @property
    def key(self) -> tuple[str, ...]:
        return self.machine, self.stage, self.case, self.measure, self.against


def row(
    stage: str,
    case: str,
    measure: str,
    against: str,
    slicing: int,
    ours: list[float],
    peers: list[float],
    **about: str | int,
) -> Row:
    """Makes a row from both sides' seconds in each round."""
    ratios = [theirs / mine for theirs, mine in zip(peers, ours, strict=True)]
    return Row(
        stage=stage,
        case=case,
        measure=measure,
        against=against,
        slicing=slicing,
        rounds=len(ratios),
        qdnb_s=float(f"{statistics.median(ours):.4g}"),
        peer_s=float(f"{statistics.median(peers):.4g}"),
        ratio=round(statistics.median(ratios), 2),
        low=round(min(ratios), 2),
        high=round(max(ratios), 2),
        date=datetime.date.today().isoformat(),
        **about,
    )


def commit() -> str:
    """The commit of this checkout, with -dirty after it if files outside docs differ from it."""

    def git(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "-C", os.path.dirname(FOLDER), *args], capture_output=True, text=True, check=False
        )

    found = git("rev-parse", "--short=8", "HEAD").stdout.strip() or "unknown"
    return found + ("-dirty" if git("diff", "--quiet", "HEAD", "--", ".", ":!docs").returncode == 1 else "")


def machine() -> str:
    """The kind of this machine: its processor, if the system reports it, and the number of cores."""
    found: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition(":")
                found.setdefault(name.strip(), value.strip())
    except OSError:
        pass
    name = " ".join(
        found.get("model name", "unknown processor").replace("(R)", "").replace("(TM)", "").split()
    )
    model = (
        f", family {found['cpu family']} model {found['model']}"
        if {"cpu family", "model"} <= found.keys()
        else ""
    )
    return f"{name}{model}, {os.cpu_count()} cores"


def versions(qdnb: str) -> str:
    """The versions that determine qdnb's speed."""
    report = json.loads(
        subprocess.run([qdnb, "doctor", "--json"], check=True, capture_output=True, text=True).stdout
    )
    modules = {path.rsplit("/", 1)[1]: version for path, version in report["modules"].items()}
    plugin = os.path.basename(os.path.dirname(report.get("plugin", "")))
    return ", ".join(
        [
            report["go"],
            *(f"{name} {modules[name]}" for name in ("gomlx", "go-xla") if name in modules),
            *filter(None, [plugin]),
        ]
    )


def read(path: str) -> list[Row]:
    """The rows of a ledger; none if there is no file."""
    kinds = {f.name: {"str": str, "int": int, "float": float}[f.type] for f in dataclasses.fields(Row)}
    try:
        with open(path, encoding="utf-8", newline="") as file:
            table = csv.DictReader(file)
            if table.fieldnames != list(kinds):
                raise Damaged(f"{path} has the columns {table.fieldnames}, not {list(kinds)}")
            rows = []
            for number, line in enumerate(table, 2):
                try:
                    rows.append(Row(**{name: kind(line[name]) for name, kind in kinds.items()}))
                except (TypeError, ValueError) as error:
                    raise Damaged(f"{path}: line {number}: {error}") from None
            return rows
    except FileNotFoundError:
        return []


def write(path: str, rows: list[Row]) -> None:
    with open(path + ".new", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(f.name for f in dataclasses.fields(Row))
        table.writerows(dataclasses.astuple(r) for r in rows)
    os.replace(path + ".new", path)


def latest(rows: list[Row]) -> list[Row]:
    """The newest row of each case with a peer. Machines and their stages are in the order of their first rows."""
    newest, order = {r.key: r for r in rows if r.against}, {}
    for r in rows:
        order.setdefault(r.machine, len(order))
        order.setdefault((r.machine, r.stage), len(order))
    return sorted(newest.values(), key=lambda r: (order[r.machine], order[r.machine, r.stage]))


def table(rows: list[Row]) -> str:
    """The newest rows as Markdown, one table per machine. Of the peers of a case it has the one that took the least time,
    on the machine that measured the case last."""
    measured_on = {(r.stage, r.case, r.measure): r.machine for r in rows if r.against}
    fastest: dict[tuple[str, ...], Row] = {}
    for r in latest(rows):
        case = r.stage, r.case, r.measure
        if measured_on[case] == r.machine and (case not in fastest or r.peer_s < fastest[case].peer_s):
            fastest[case] = r
    lines = []
    for name in dict.fromkeys(r.machine for r in fastest.values()):
        of, last = [r for r in fastest.values() if r.machine == name], ""
        lines += [f"**{name}**", "", "| stage | case | peer | qdnb, s | peer, s | speed-up (range over rounds) |"]
        lines += ["|" + "---|" * 6]
        for r in of:
            case = r.case if r.measure == "running" else f"{r.case}, {r.measure}"
            against = f"slices of {r.slicing}" if r.slicing else r.against
            stage, last = r.stage if r.stage != last else "", r.stage
            ratio = f"**{r.ratio:.2f}** ({r.low:.2f}–{r.high:.2f})"
            lines.append(f"| {stage} | {case} | {against} | {r.qdnb_s:.3g} | {r.peer_s:.3g} | {ratio} |")
        dates = sorted({r.date for r in of})
        about = f"{dates[0]} to {dates[-1]}. " if dates[1:] else f"{dates[0]}. "
        about += f"qdnb: {'; '.join(dict.fromkeys(r.qdnb for r in of))}. "
        about += f"Peers: {'; '.join(dict.fromkeys(r.peer for r in of))}."
        lines += ["", *textwrap.wrap(about, 100, break_on_hyphens=False), ""]
    return "\n".join(lines)


def record(new: list[Row], folder: str = FOLDER) -> None:
    """Appends rows to the ledger and writes its table into the page."""
    path, page = os.path.join(folder, "performance.csv"), os.path.join(folder, "performance.md")
    rows = read(path) + new
    write(path, rows)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise Damaged(f"{page} has no line {BEGIN} with {END} after it")
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n\n{table(rows)}\n{END}{tail}")


def regressions(old: list[Row], new: list[Row], tolerance: float) -> tuple[list[str], list[str]]:
    """The ratios that got worse than the ledger's, and those without a row in it, one line each.

    A ratio is too low if it is below the lowest recorded round by more than the tolerance.
    """
    known = {r.key: r for r in old}
    slower, unknown = [], []
    for r in new:
        what = f"{r.stage} {r.case}, {r.measure}, peer {r.against}"
        before = known.get(r.key)
        if before is None:
            unknown.append(f"{what}: ratio {r.ratio:.2f}; no record for {r.machine}")
        elif r.ratio < before.low * (1 - tolerance):
            slower.append(
                f"{what}: ratio {r.ratio:.2f}, recorded {before.ratio:.2f} "
                f"({before.low:.2f} to {before.high:.2f}) on {before.date}"
            )
    return slower, unknown


def step(name: str, command: list[str], keep: bool) -> int:
    """Runs a step of `make test` and returns its exit status."""
    start = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    seconds = time.monotonic() - start
    print(f"== {name}: {seconds:.0f} s", flush=True)
    if keep and not status:
        record(
            [
                Row(
                    machine=machine(),
                    stage="make test",
                    case=name,
                    measure="running",
                    against="",
                    slicing=0,
                    rounds=1,
                    qdnb_s=float(f"{seconds:.4g}"),
                    peer_s=0,
                    ratio=0,
                    low=0,
                    high=0,
                    qdnb_mb=0,
                    peer_mb=0,
                    date=datetime.date.today().isoformat(),
                    commit=commit(),
                    qdnb="",
                    peer="",
                )
            ]
        )
    return status


if __name__ == "__main__":
    keep = sys.argv[1:2] == ["--record"]
    sys.exit(step(sys.argv[1 + keep], sys.argv[2 + keep :], keep))
