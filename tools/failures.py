"""Explains in one line why a cell of a Go notebook failed, from its outputs."""

from __future__ import annotations

import re

from nbformat import NotebookNode

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_EXIT = re.compile(r"^(exit status \d+|signal: [a-z ]+( \(core dumped\))?)$", re.MULTILINE)
_UNKNOWN = re.compile(r'^"(%.*)" unknown or not implemented', re.MULTILINE)
_COMPILE = re.compile(r"^\S*\.go:\d+(?::\d+)?: (.+)$", re.MULTILINE)
_LINE = re.compile(r"Cell ?\[\d+\]:? Line (\d+)")


def stderr_of(cell: NotebookNode) -> str:
    """The cell's stderr, without colours."""
    parts = [o["text"] for o in cell.outputs if o["output_type"] == "stream" and o["name"] == "stderr"]
    return _ANSI.sub("", "".join(parts))


def failed_line(cell: NotebookNode) -> str | None:
    """The error message of a failed `!` line or of an unknown `%` line, or None.

    In GoNB such a line does not fail its cell; a message on stderr is the only sign. A line of a text that begins with
    % is taken for a command, too, and left out.
    """
    text = stderr_of(cell)
    if unknown := _UNKNOWN.search(text):
        return f"a line begins with {unknown[1]}, which is no command"
    status = _EXIT.search(text)
    if status is None:
        return None
    complaint = _last_line(text[: status.start()])
    return f"a shell line ended with {status[0]}" + (f": {complaint}" if complaint else "")


def explain(cell: NotebookNode) -> str:
    """The reason for a cell's error reply: compiler, `go get`, panic, or exit status; with the line if known."""
    error = next((o for o in cell.outputs if o["output_type"] == "error"), None)
    value = _ANSI.sub("", error["evalue"]) if error is not None else ""
    trace = _ANSI.sub("", "\n".join(error["traceback"])) if error is not None else ""
    text = stderr_of(cell)

    if compiler := _COMPILE.findall(value):
        more = f" (and {len(compiler) - 1} more)" if len(compiler) > 1 else ""
        return _at(trace) + compiler[0] + more
    if panic := re.search(r"^(?:panic|fatal error): (.+)$", text, re.MULTILINE):
        return _at(text[panic.start() :]) + panic[0]
    if "failed to run" in value:  # go get, goimports: the tool's own message comes last
        return _last_line(value.split("\tserver response")[0]) or value.strip()
    status = _EXIT.search(value) or _EXIT.search(text)
    if status is not None:
        complaint = _last_line(_EXIT.sub("", text))
        return f"{complaint} ({status[0]})" if complaint else f"the program ended with {status[0]}"
    return _last_line(value) or "the cell failed and said nothing"


def _at(text: str) -> str:
    """The "line 3: " of the first position in the cell that text names."""
    match = _LINE.search(text)
    return f"line {match[1]}: " if match else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
