"""A progress line on stderr, rewritten in place on a terminal and repeated occasionally in a log file."""

from __future__ import annotations

import shutil
import sys
import time


def duration(seconds: float) -> str:
    """Formats seconds for reading: "0.8 s", "42 s", "3 min 05 s", "2 h 10 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class StatusLine:
    """A transient line and the permanent lines above it.

    On a terminal the transient line is overwritten by the next text. Elsewhere (a pipe, a CI log) a transient text is
    printed as a separate line, at most once in `every` seconds, and not at all in the first `every` seconds.
    """

    def __init__(self, every: float = 15.0) -> None:
        self.terminal = sys.stderr.isatty()
        self._every = every
        self._last = time.monotonic()
        self._shown = ""

    def show(self, text: str) -> None:
        """Replaces the transient line by text."""
        now = time.monotonic()
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\x1b[K" + text[:width])
            sys.stderr.flush()
        elif now - self._last >= self._every and text != self._shown:
            print(text, file=sys.stderr, flush=True)
            self._last = now
        self._shown = text

    def clear(self) -> None:
        """Removes the transient line from a terminal."""
        if self.terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def print(self, text: str) -> None:
        """Replaces the transient line by a permanent one."""
        self.clear()
        print(text, file=sys.stderr, flush=True)
        self._last = time.monotonic()
