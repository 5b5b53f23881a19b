"""Runs notebooks without a browser, checks the results and writes notebooks and HTML pages.

    tools/env python tools/notebook.py run notebooks/quickstart.ipynb --out build --html build

A notebook fails, and the exit status is 1, when a cell fails, a `!` line in it fails (which GoNB ignores), a cell
takes longer than --timeout, or there are fewer figures than --expect-png. The other notebooks are still run,
several at a time with --jobs. The kernel sees the caller's environment. Ctrl-C stops the kernel and ends with status 130.
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbclient.util import ensure_async
from nbformat import NotebookNode

import failures
import outputs
from statusline import StatusLine, duration

ROOT = Path(__file__).resolve().parent.parent
TIMES = ROOT / ".tools" / "cell-times.json"


class NotebookFailed(Exception):
    """A notebook failed to run; the text is a one-line explanation."""


class Interrupted(Exception):
    """The user stopped the run."""


@dataclasses.dataclass
class Result:
    """The result of one notebook."""

    path: Path
    cells: int = 0
    seconds: float = 0.0
    figures: int = 0
    error: str = ""
    written: list[Path] = dataclasses.field(default_factory=list)
    summary: str = ""


class Times:
    """The duration of each cell's last run, for the estimate of the time left."""

    def __init__(self, notebook: Path, smoke: bool) -> None:
        self._key = os.path.relpath(notebook, ROOT) + (" (smoke)" if smoke else "")
        try:
            self._all: dict[str, list[float]] = json.loads(TIMES.read_text())
            self.last = [float(t) for t in self._all.get(self._key, [])]
        except (OSError, ValueError, TypeError, AttributeError):
            self._all, self.last = {}, []

    def left(self, done: int, running: float) -> str:
        """The estimated time left for the running cell and those after it, or nothing if unknown."""
        if len(self.last) <= done:
            return ""
        return f", about {duration(max(self.last[done] - running, 0) + sum(self.last[done + 1 :]))} left"

    def save(self, seconds: list[float]) -> None:
        self._all[self._key] = [round(s, 2) for s in seconds]
        with contextlib.suppress(OSError):  # only an estimate is lost
            TIMES.write_text(json.dumps(self._all, indent=1))


def title(source: str) -> str:
    """A name for a cell: the first comment of its program, else of its declarations, else a line; shortened."""
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    magic = next((i for i, line in enumerate(lines) if line.startswith("%%")), -1)
    program = lines[magic + 1 :]
    comments = [line.lstrip("/ ") for line in program + lines if line.startswith("//")]
    name = (comments + [line for line in program if line[0] not in "%!"] + lines)[0]
    return name if len(name) <= 48 else name[:47] + "…"


async def show_progress(status: StatusLine, cell: NotebookNode, head: str, times: Times, done: int) -> None:
    """Keeps the status line up to date while a cell runs, with the cell's last output."""
    start = time.monotonic()
    while True:
        running = time.monotonic() - start
        live = outputs.last_words(cell)
        status.show(f"{head}, {duration(running)}{times.left(done, running)}" + (f" | {live}" if live else ""))
        await asyncio.sleep(0.2)


async def run_cell(client: NotebookClient, cell: NotebookNode, index: int, number: int) -> None:
    """Runs one cell; raises NotebookFailed with the reason if it fails."""
    try:
        await client.async_execute_cell(cell, index, execution_count=number)
    except CellTimeoutError:
        raise NotebookFailed(f"took longer than {client.timeout} s") from None
    except CellExecutionError:
        raise NotebookFailed(failures.explain(cell)) from None
    finally:
        outputs.collapse_streams(cell)
    complaint = failures.failed_line(cell)
    if complaint and "raises-exception" not in cell.metadata.get("tags", []):
        raise NotebookFailed(complaint)


async def execute(nb: NotebookNode, path: Path, args: argparse.Namespace, status: StatusLine) -> int:
    """Runs all code cells in a new kernel, in the notebook's folder, and returns their number."""
    code = [(i, cell) for i, cell in enumerate(nb.cells) if cell.cell_type == "code" and cell.source.strip()]
    times, seconds = Times(path, args.smoke), []
    log = args.log / f"{path.stem}.kernel.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    client = NotebookClient(
        nb,
        kernel_name=args.kernel,
        timeout=args.timeout,
        startup_timeout=600,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
        # Compiler messages as text; the default is HTML with a style sheet.
        extra_arguments=["-raw_error=true"] if args.kernel == "gonb" else [],
    )
    with log.open("wb") as stream:
        async with client.async_setup_kernel(stdout=stream, stderr=stream):
            stopped = stop_on_signals(client, status)
            await describe_language(client)
            for number, (index, cell) in enumerate(code, start=1):
                head = f"{path.stem} [{number}/{len(code)}] {title(cell.source)}"
                start = time.monotonic()
                ticker = asyncio.ensure_future(show_progress(status, cell, head, times, number - 1))
                try:
                    await run_cell(client, cell, index, number)
                except (NotebookFailed, DeadKernelError) as error:
                    if stopped.is_set():  # nbclient reports every cancellation as a dead kernel
                        raise Interrupted from None
                    died = f"the kernel died; its log is {os.path.relpath(log)}"
                    reason = str(error) if isinstance(error, NotebookFailed) else died
                    raise NotebookFailed(f"cell [{number}] ({title(cell.source)}): {reason}") from None
                finally:
                    ticker.cancel()
                if stopped.is_set():
                    raise Interrupted
                seconds.append(time.monotonic() - start)
                status.print(f"{head}, {duration(seconds[-1])}")
    times.save(seconds)
    return len(code)


def stop_on_signals(client: NotebookClient, status: StatusLine) -> asyncio.Event:
    """Lets Ctrl-C, kill and a closed terminal end the run; sets the event.

    The running cell is interrupted, as by JupyterLab's stop button, so that a training run can save its state. If it is
    still running a minute later, or at a second signal, it is cancelled with its kernel.
    """
    task, loop, stopped = asyncio.current_task(), asyncio.get_running_loop(), asyncio.Event()
    assert task is not None and client.km is not None
    manager = client.km

    def stop() -> None:
        if stopped.is_set():
            task.cancel()
            return
        stopped.set()
        status.print("interrupting the cell; a second signal ends it at once")
        pending.append(asyncio.ensure_future(ensure_async(manager.interrupt_kernel())))
        loop.call_later(60, task.cancel)

    pending: list[asyncio.Future[None]] = []  # asyncio itself holds tasks weakly
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    return stopped


async def describe_language(client: NotebookClient) -> None:
    """Records kernel and language in the notebook, as JupyterLab does."""
    assert client.kc is not None and client.km is not None
    reply = await client.async_wait_for_reply(client.kc.kernel_info())
    if reply is not None:
        client.nb.metadata["language_info"] = reply["content"]["language_info"]
    spec = client.km.kernel_spec
    assert spec is not None
    client.nb.metadata["kernelspec"] = {
        "display_name": spec.display_name,
        "language": spec.language,
        "name": client.kernel_name,
    }


def read(path: Path) -> NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except OSError as error:
        raise NotebookFailed(f"cannot be read: {error.strerror}") from None
    except Exception as error:  # not JSON, or not a notebook: nbformat has no common class for these
        raise NotebookFailed(f"is not a notebook: {str(error).splitlines()[0]}") from None


def make_small(nb: NotebookNode) -> None:
    """Applies the replacements in the cells' metadata `smoke`, {"text of the cell": "smaller"}, so that cells take seconds."""
    for number, cell in enumerate(nb.cells):
        for text, smaller in cell.metadata.get("smoke", {}).items():
            if text not in cell.source:
                raise NotebookFailed(f"has metadata `smoke` for {text!r}, which cell {number} does not contain")
            cell.source = cell.source.replace(text, smaller)


def started(run: Callable[[], int]) -> int:
    """Calls run again if its kernel dies before it answers, for another process may take a port before it listens."""
    for _ in range(2):
        try:
            return run()
        except RuntimeError as error:  # of jupyter_client; nothing has been executed
            if "died" not in str(error):
                raise
    return run()


def run_one(path: Path, args: argparse.Namespace, status: StatusLine) -> Result:
    """Runs, checks and writes one notebook. A failed one is written to --out, but never in place."""
    result, start = Result(path), time.monotonic()
    nb = None
    try:
        nb = read(path)
        if args.smoke:
            make_small(nb)
        if args.runs is not None:
            os.environ["QDNB_RUNS"] = str((args.runs / path.stem).resolve())
        result.cells = started(lambda: asyncio.run(execute(nb, path, args, status)))
        result.figures = outputs.count_png(nb)
        if result.figures < args.expect_png:
            raise NotebookFailed(f"shows {result.figures} PNG figures; at least {args.expect_png} were expected")
        if args.summary:
            result.summary = outputs.text_of_tagged(nb, "summary")
            if not result.summary:
                raise NotebookFailed("has no cell tagged `summary` that prints something")
    except NotebookFailed as error:
        result.error = str(error)
    except NoSuchKernel:
        result.error = f"needs the kernel {args.kernel!r}, which is not installed: run `make setup`"
    except OSError as error:
        result.error = f"cannot write {error.filename}: {error.strerror}"
    except RuntimeError as error:  # jupyter_client: the kernel did not start or did not answer
        result.error = f"the kernel did not start: {error}; its log is {os.path.relpath(args.log / path.stem)}.kernel.log"
    result.seconds = time.monotonic() - start
    if nb is None:
        return result

    try:
        outputs.strip_volatile(nb)
        if not result.error:
            outputs.sign(nb)
        if args.out is not None:
            result.written.append(outputs.write_notebook(nb, args.out / path.name))
        if not result.error:
            if args.in_place:
                result.written.append(outputs.write_notebook(nb, path))
            if args.html is not None:
                result.written.append(outputs.write_html(nb, args.html / f"{path.stem}.html"))
    except OSError as error:
        result.error = result.error or f"cannot write {error.filename}: {error.strerror}"
    return result


def report(result: Result) -> None:
    """Prints the result of one notebook: a line, the cells tagged `summary`, and the files."""
    name = os.path.relpath(result.path)
    if result.error:
        print(f"FAIL {name}: {result.error}")
    else:
        figures = f"{result.figures} figure" + ("" if result.figures == 1 else "s")
        print(f"ok   {name}: {result.cells} cells, {figures}, {duration(result.seconds)}")
    if result.summary:
        print("\n" + result.summary + "\n")
    for path in result.written:
        print(f"     {os.path.relpath(path)}")
    sys.stdout.flush()


def amount_of_code(path: Path) -> int:
    """The number of characters in a notebook's cells of code, or 0 if it cannot be read, which running it reports."""
    with contextlib.suppress(NotebookFailed):
        return sum(len(cell.source) for cell in read(path).cells if cell.cell_type == "code")
    return 0


def run_side_by_side(args: argparse.Namespace) -> int:
    """Runs each notebook in its own process, --jobs at a time, and prints its output when it ends."""
    options: list[str] = []
    for name, value in vars(args).items():
        if name in ("command", "notebooks", "jobs") or value is None or value is False:
            continue
        options += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])

    def run(path: Path) -> int:
        command = [sys.executable, __file__, "run", str(path), *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stderr is not None
            for line in process.stderr:  # in a pipe, status lines are occasional separate lines
                sys.stderr.write(line)
            sys.stdout.write(process.stdout.read())
            sys.stdout.flush()
        if process.returncode < 0:  # killed, for example because memory ran out
            print(f"FAIL {path}: its process was ended by signal {-process.returncode}", flush=True)
        return process.returncode

    # Those with the most code take longest; begun last, one would run alone at the end.
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        codes = list(pool.map(run, sorted(args.notebooks, key=amount_of_code, reverse=True)))
    if 130 in codes:
        raise Interrupted
    return int(any(codes))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run notebooks")
    run.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    where = run.add_mutually_exclusive_group()
    where.add_argument("--out", type=Path, metavar="DIR", help="write the executed notebooks to this folder")
    where.add_argument("--in-place", action="store_true", help="overwrite the originals if all succeeded")
    run.add_argument("--html", type=Path, metavar="DIR", help="write pages with the figures to this folder")
    run.add_argument("--timeout", type=int, metavar="S", help="timeout of a cell in seconds (default: no limit)")
    run.add_argument("--jobs", type=int, default=1, metavar="N", help="notebooks to run concurrently (default: 1)")
    run.add_argument("--runs", type=Path, metavar="DIR", help="keep each notebook's runs in its own subfolder")
    run.add_argument("--smoke", action="store_true", help="run cells at the small sizes given in their metadata; not with --in-place")
    run.add_argument("--kernel", default="gonb", help="name of the kernel spec (default: gonb)")
    run.add_argument("--expect-png", type=int, default=0, metavar="N", help="fail if a notebook shows fewer PNG figures")
    run.add_argument("--summary", action="store_true", help="print the output of cells tagged `summary`")
    run.add_argument("--log", type=Path, default=ROOT / "build" / "log", metavar="DIR", help="folder for the kernels' logs")
    page = commands.add_parser("html", help="write the pages of executed notebooks")
    page.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    page.add_argument("--html", type=Path, required=True, metavar="DIR", help="folder for the pages")
    args = parser.parse_args()
    if args.command == "run" and (args.jobs < 1 or args.expect_png < 0 or (args.timeout or 1) < 0):
        run.error("--jobs must be 1 or more, and --timeout and --expect-png not negative")
    if args.command == "run" and args.smoke and args.in_place:
        run.error("--smoke changes cells: it cannot write over the originals")
    return args


def main() -> int:
    args = arguments()
    if args.command == "run" and args.jobs > 1 and len(args.notebooks) > 1:
        return run_side_by_side(args)
    status = StatusLine()
    failed = 0
    for notebook in args.notebooks:
        path = notebook.resolve()
        if args.command == "html":
            try:
                result = Result(path, written=[outputs.write_html(read(path), args.html / f"{path.stem}.html")])
            except (NotebookFailed, OSError) as error:
                result = Result(path, error=str(error))
        else:
            result = run_one(path, args, status)
        status.clear()
        report(result)
        failed += bool(result.error)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, asyncio.CancelledError, Interrupted):
        StatusLine().print("notebook.py: interrupted; the kernel is stopped")
        sys.exit(130)
