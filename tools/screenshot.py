"""screenshot.py PAGE...: takes screenshots of whole HTML pages with a headless Chromium, as PAGE.png next to the page.

Needs only Python's standard library and a browser. Without a browser it prints a line and exits with status 0, because
nothing else in the project needs the pictures.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from statusline import StatusLine, duration

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
# WebGL in software, for the 3-D viewer; and 15 s of virtual time, for the page's scripts to finish.
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--hide-scrollbars",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--virtual-time-budget=15000",
]
# The height of the browser's surface; what is below it would show the top of the page again.
MAX_HEIGHT = 8192
MEASURE = """<script>addEventListener("load", () =>
document.documentElement.setAttribute("data-height", document.documentElement.scrollHeight));</script>"""


def find_browser() -> str | None:
    """$BROWSER_BIN, or the first of the usual names."""
    chosen = os.environ.get("BROWSER_BIN")
    return shutil.which(chosen) if chosen else next(filter(None, map(shutil.which, BROWSERS)), None)


def browse(browser: str, *flags: str) -> str:
    """Runs the browser with a separate profile and returns its stdout."""
    with tempfile.TemporaryDirectory(prefix="qdnb-browser-") as profile:
        command = [browser, *FLAGS, f"--user-data-dir={profile}", *flags]
        # Caches outside the profile are redirected to it, too.
        env = {**os.environ, "XDG_CACHE_HOME": profile, "XDG_CONFIG_HOME": profile}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180, env=env)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{browser} ended with status {done.returncode}: {last}")
    return done.stdout


def height_of(browser: str, page: Path, width: int) -> int:
    """The page's height in CSS pixels at the given width, or 3000 if the browser does not say."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / page.name
        copy.write_text(page.read_text(encoding="utf-8") + MEASURE, encoding="utf-8")
        dom = browse(browser, f"--window-size={width},800", "--dump-dom", copy.as_uri())
    match = re.search(r'data-height="(\d+)"', dom)
    return int(match[1]) if match else 3000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE")
    parser.add_argument("--width", type=int, default=1000, help="width of the window in CSS pixels (default: 1000)")
    parser.add_argument("--height", type=int, help="height of the window (default: that of the page)")
    args = parser.parse_args()

    browser = find_browser()
    if browser is None:
        print(f"no screenshots: none of {', '.join(BROWSERS)} is installed, and BROWSER_BIN is not set")
        return 0
    status = StatusLine()
    failed, start = 0, time.monotonic()
    for number, page in enumerate(args.pages, start=1):
        done, total = number - 1, len(args.pages)
        left = f", about {duration((time.monotonic() - start) / done * (total - done))} left" if done else ""
        status.show(f"screenshot {number} of {total}: {page}{left}")
        picture = page.resolve().with_suffix(".png")
        try:
            height = args.height or height_of(browser, page.resolve(), args.width)
            scale = min(1, MAX_HEIGHT / height)  # long pages are drawn smaller
            size = [f"--window-size={args.width},{height}", f"--force-device-scale-factor={scale}"]
            browse(browser, *size, f"--screenshot={picture}", page.resolve().as_uri())
            if not picture.exists():
                raise RuntimeError("the browser wrote no picture")
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
            status.clear()
            print(f"FAIL {page}: {error}")
            failed += 1
            continue
        status.clear()
        print(f"ok   {os.path.relpath(picture)}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
