"""gobuild.py [-C DIR] -label TEXT compile|install PACKAGES...: compiles or installs packages with progress and an ETA.

`go list -export` compiles: `go build` would also link all main packages each time, and discard them.
Silent if everything is already built. Module downloads, which `go` reports one by one, are counted, too; their total
is not known in advance. Needs only Python's standard library.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from typing import Callable

from statusline import StatusLine, duration


def run(command: list[str], cwd: str, on_line: Callable[[str], bool], show: Callable[[], None]) -> tuple[int, str]:
    """Runs a go command; on_line receives each line of its stderr and returns whether it was progress.

    It calls show each second, because one package can take a minute. Returns the exit status and the lines that were
    not progress.
    """
    rest: list[str] = []
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(1):
            show()

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if not on_line(line.rstrip("\n")):
                rest.append(line)
    ended.set()
    ticker.join()
    return process.returncode, "".join(rest)


def stale_packages(cwd: str, packages: list[str]) -> int:
    """The number of packages to compile, or 0 if go cannot tell. Main packages that are compiled lack being installed."""
    compiled = "not installed but available in build cache"
    stale = f'{{{{if and .Stale (ne .StaleReason "{compiled}")}}}}{{{{.ImportPath}}}}{{{{end}}}}'
    command = ["go", "list", "-e", "-deps", "-f", stale, *packages]
    listed = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return len(listed.stdout.split()) if listed.returncode == 0 else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-C", dest="cwd", default=".", help="run in this folder")
    parser.add_argument("-label", required=True, help="description of what is built")
    parser.add_argument("command", choices=["compile", "install"])
    parser.add_argument("packages", nargs="+")
    args = parser.parse_args()

    status = StatusLine()
    start = time.monotonic()
    downloads, newest = 0, ""

    def downloading(line: str) -> bool:
        nonlocal downloads, newest
        if not line.startswith("go: downloading "):
            return False
        downloads, newest = downloads + 1, line[len("go: downloading "):]
        return True

    def show_downloads() -> None:
        elapsed = duration(time.monotonic() - start)
        status.show(f"{args.label}: reading Go modules, {elapsed}, {downloads} downloaded{newest and ': ' + newest}")

    # Listing the packages first downloads their dependencies, so that the compile count is known.
    code, errors = run(["go", "list", "-deps", *args.packages], args.cwd, downloading, show_downloads)
    if code == 0:
        if downloads:
            status.print(f"{args.label}: downloaded {downloads} Go modules in {duration(time.monotonic() - start)}")
        total = stale_packages(args.cwd, args.packages)
        start, built = time.monotonic(), 0

        def compiling(line: str) -> bool:
            nonlocal built
            if downloading(line):
                return True
            if " " in line or "\t" in line or ":" in line or not line:
                return False  # a diagnostic; -v prints bare import paths
            built += 1
            show_compiled()
            return True

        def show_compiled() -> None:
            elapsed = time.monotonic() - start
            left = f", about {duration(elapsed / built * max(total - built, 0))} left" if built else ""
            if total or built:
                status.show(f"{args.label}: compiled {built} of {max(total, built)} packages in {duration(elapsed)}{left}")

        command = ["list", "-export"] if args.command == "compile" else ["install"]
        code, errors = run(["go", *command, "-v", *args.packages], args.cwd, compiling, show_compiled)
        if code == 0 and built:
            status.print(f"{args.label}: compiled {built} package{'s' if built > 1 else ''} in {duration(time.monotonic() - start)}")
    status.clear()
    if code != 0:
        status.print(errors.rstrip("\n") or f"go {args.command} failed")
        if any(sign in errors for sign in ("dial tcp", "i/o timeout", "no such host", "proxyconnect")):
            status.print("setup: the Go modules could not be downloaded: check the network, or set GOPROXY to a proxy "
                         "that can be reached")
    return 1 if code else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
