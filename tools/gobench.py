"""gobench.py: runs one of qdnb's benchmarks (folder bench) and reads what it prints, the standard format of Go's benchmarks."""

from __future__ import annotations

import re

LINE = re.compile(r"^Benchmark\S+\s+\d+\s+(.*)$")


def command(program: str, benchmark: str) -> list[str]:
    """The command of a benchmark: its name, -benchtime, and flags, such as "Rollout 3x -env ant-uni". The program is `go test -c ./bench`."""
    name, benchtime, *flags = benchmark.split()
    return [program, "-test.run=^$", f"-test.bench=^Benchmark{name}$", f"-test.benchtime={benchtime}", *flags]


def parse(text: str) -> dict[str, float | str]:
    """The numbers of the last benchmark by their units, such as "best-s", and the configuration, such as "backend".

    Without a benchmark's line, it is empty."""
    found: dict[str, float | str] = {}
    config: dict[str, float | str] = {}
    for line in text.splitlines():
        if match := LINE.match(line.strip()):
            words = match[1].split()
            found = {unit: float(number) for number, unit in zip(words[::2], words[1::2])}
        elif match := re.match(r"^([a-z]+): (.*)$", line):
            config[match[1]] = match[2]
    return {**config, **found} if found else {}
