"""pipinstall.py LABEL COUNT PIP... install ARGS...: runs pip with one progress line (about COUNT packages)
instead of two hundred lines.

pip's settings (index, proxy, certificates, find-links) are the caller's. Needs only Python's standard library.
"""

from __future__ import annotations

import collections
import re
import subprocess
import sys
import time

from statusline import StatusLine, duration


def main() -> int:
    status = StatusLine()
    start = time.monotonic()
    collected = 0
    tail: collections.deque[str] = collections.deque(maxlen=12)
    label, count, *pip = sys.argv[1:]
    command = [*pip, "--no-color"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            line = line.strip()
            tail.append(line)
            elapsed = duration(time.monotonic() - start)
            if match := re.match(r"Collecting ([\w.\-]+)", line):
                collected += 1
                status.show(f"{label}: {collected} Python packages collected in {elapsed}, of about {count}: {match[1]}")
            elif line.startswith("Installing collected packages"):
                status.show(f"{label}: installing {collected} Python packages, about 15 s left")
    if process.returncode:
        status.print("\n".join(tail))
        status.print("setup: pip failed: check the network; pip takes an index, a proxy or a folder of wheels from "
                     "PIP_INDEX_URL, HTTPS_PROXY or PIP_FIND_LINKS")
        return 1
    status.print(f"{label}: installed in {duration(time.monotonic() - start)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
