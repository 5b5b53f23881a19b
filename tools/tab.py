"""tab.py: presses Tab in JupyterLab, as a person would, and checks the completions; then it trains and watches the figure.

Opens a copy of the quickstart in JupyterLab with a headless Chromium, types `qdnb.` and `figures.` into a new cell,
presses Tab, and compares the names in the list with the packages' exported ones. It trains a run for half a
minute, during which the figure below the cell must change, and saves the notebook, which must have only the
last one. Writes build/tab/*.png. Runs in .tools/browser (Playwright and an installed Chromium); see `make test-tab`.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Error, Page, TimeoutError, sync_playwright

from screenshot import BROWSERS, find_browser

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "tab"
# Each case is a package below the module, and the text typed into a cell; {module} is the module's path.
CASES = [
    ("qdnb", 'import "{module}/qdnb"\n\n%%\nqdnb.'),
    ("qdnb/plot/figures", 'import "{module}/qdnb/plot/figures"\n\n%%\nfigures.'),
]
# This one comes after the notebook's first cell, which imports the package, was run.
LATER = ("qdnb", "%%\nqdnb.")
LIVE = """%%
nb.Must(qdnb.Train(nb.Interruptible(), qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Runs: "runs-live",
	Fresh: true, Backend: "go", Budget: runs.Budget{Time: 30 * time.Second},
	Tune: runs.Assign("batch=16", "hidden=[8]", "cells=128", "cvt_samples=5000", "episode_length=50")}))
"""
# gopls loads the module at its first request, and GoNB gives it only seconds: a person presses Tab again.
PATIENCE = 600


def go(*args: str) -> str:
    return subprocess.run(["go", *args], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def exported(package: str) -> set[str]:
    """The exported functions, types, variables and constants of a package, as `go doc` lists them."""
    return set(re.findall(r"^(?:func|type|var|const) ([A-Z]\w*)", go("doc", "-short", package), re.MULTILINE))


def start_lab(log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Starts JupyterLab as `make lab` does, without opening a browser; returns it and its address with the token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    options = f"--no-browser --ip=127.0.0.1 --port={port} --IdentityProvider.token={token} --LabApp.expose_app_in_browser=True"
    with log.open("wb") as stream:
        server = subprocess.Popen(["make", "--no-print-directory", "lab", f"LAB_ARGS={options}"],
                                  cwd=ROOT, stdout=stream, stderr=stream, start_new_session=True)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server, f"http://127.0.0.1:{port}/lab/tree/build/tab/quickstart.ipynb?token={token}&reset"
        time.sleep(0.5)
    stop(server)
    raise RuntimeError(f"JupyterLab did not start; see {log.relative_to(ROOT)}")


def stop(server: subprocess.Popen[bytes]) -> None:
    """Ends JupyterLab and its kernels, which are in its process group."""
    if server.poll() is None:
        os.killpg(server.pid, 15)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, 9)


def open_notebook(page: Page, address: str) -> None:
    """Opens the notebook and waits until its kernel is connected."""
    page.goto(address, timeout=PATIENCE * 1000)
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE * 1000)
    page.wait_for_function(
        """() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.connectionStatus === "connected" """,
        timeout=PATIENCE * 1000)


def check_opened(page: Page) -> bool:
    """Prints whether the notebook opened without a pop-up and unchanged, and returns whether not."""
    page.wait_for_timeout(5000)  # for what opens late
    popups = page.locator(".Toastify__toast").all_inner_texts()
    changed = page.evaluate("() => window.jupyterapp.shell.currentWidget.context.model.dirty")
    print(f"{'FAIL' if popups or changed else 'ok  '} opened {'with changes' if changed else 'unchanged'}, "
          f"{len(popups)} pop-ups{''.join(f': {text!r}' for text in popups)}", flush=True)
    return bool(popups or changed)


def run_first_cell(page: Page) -> None:
    """Runs the notebook's first code cell and waits for its output."""
    cell = page.locator(".jp-Notebook .jp-CodeCell", has_text="The backend on this machine").first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    cell.locator(".jp-InputPrompt", has_text="[*]").wait_for(timeout=PATIENCE * 1000)
    cell.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")).wait_for(timeout=PATIENCE * 1000)


def complete(page: Page, text: str, picture: Path) -> list[str]:
    """Types the text into a new cell at the top, presses Tab until there is a list, and returns the list's names."""
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Escape")
    page.keyboard.press("a")  # a new cell above
    page.keyboard.press("Enter")
    page.keyboard.insert_text(text)
    items = page.locator(".jp-Completer:not(.lm-mod-hidden) .jp-Completer-item .jp-Completer-match")
    deadline = time.monotonic() + PATIENCE
    while True:
        page.keyboard.press("Tab")
        try:
            items.first.wait_for(timeout=20_000)
            break
        except TimeoutError:
            page.screenshot(path=picture)
            if time.monotonic() > deadline:
                raise RuntimeError(f"Tab after {text.splitlines()[-1]!r} showed no list for {PATIENCE} s") from None
    page.screenshot(path=picture)
    return [item.split("(")[0].split(".")[-1].strip() for item in items.all_inner_texts()]


def check_live(page: Page, module: str) -> bool:
    """Trains in a new cell, prints how the figure below it changed, and returns whether it did not, or stayed twice."""
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    imports = "".join(f"import \"{path}\"\n" for path in ("time", f"{module}/qdnb", f"{module}/qdnb/nb", f"{module}/qdnb/runs"))
    page.keyboard.insert_text(imports + LIVE)
    page.keyboard.press("Control+Enter")
    figure = page.locator(".jp-Notebook .jp-CodeCell").first.locator('img[alt*=" at generation "]')
    shown: list[str] = []
    deadline = time.monotonic() + PATIENCE
    prompt = page.locator(".jp-Notebook .jp-CodeCell").first.locator(".jp-InputPrompt")
    prompt.filter(has_text="[*]").wait_for(timeout=PATIENCE * 1000)
    while "*" in prompt.inner_text() and time.monotonic() < deadline:
        if figure.count() and (alt := figure.first.get_attribute("alt") or "") not in shown:
            shown.append(alt)
            page.screenshot(path=FOLDER / f"live-{len(shown)}.png")
        page.wait_for_timeout(200)
    drawn = figure.first.evaluate("image => image.complete && image.naturalWidth > 300") if figure.count() else False
    page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")
    outputs = json.loads((FOLDER / "quickstart.ipynb").read_text())["cells"][0].get("outputs", [])
    saved = sum(" at generation " in "".join(o.get("data", {}).get("text/html", "")) for o in outputs)
    failed = not drawn or len(shown) < 2 or saved != 1
    print(f"{'FAIL' if failed else 'ok  '} a run drew itself: {len(shown)} states were seen, {saved} is in the saved notebook; "
          f"{FOLDER.relative_to(ROOT)}/live-*.png", flush=True)
    return failed


def check(page: Page, module: str, package: str, text: str, suffix: str) -> bool:
    """Completes the text, prints the result, and returns whether exported names are missing."""
    name = package.rpartition("/")[2]
    picture, start = FOLDER / f"{name}{suffix}.png", time.monotonic()
    shown = complete(page, text.format(module=module), picture)
    missing = exported(f"{module}/{package}") - set(shown)
    print(f"{'FAIL' if missing else 'ok  '} {text.splitlines()[-1]} and Tab: {len(shown)} names, "
          f"{time.monotonic() - start:.0f} s; {picture.relative_to(ROOT)}"
          + (f"; missing: {', '.join(sorted(missing))}; shown: {', '.join(shown)}" if missing else ""), flush=True)
    page.keyboard.press("Escape")
    return bool(missing)


def main() -> int:
    browser = find_browser()
    if browser is None:
        print(f"make test-tab: cannot run: none of {', '.join(BROWSERS)} is installed, and BROWSER_BIN is not set "
              "(Debian, Ubuntu: apt install chromium)", file=sys.stderr)
        return 1
    if not (ROOT / ".tools" / "bin" / "gopls").exists():
        print("make test-tab: cannot run: gopls is not installed: run `make gopls`", file=sys.stderr)
        return 1
    module = json.loads(go("mod", "edit", "-json"))["Module"]["Path"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # stops JupyterLab, too
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "notebooks" / "quickstart.ipynb", FOLDER)
    failed = 0
    server, address = start_lab(FOLDER / "lab.log")
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = chromium.new_page(viewport={"width": 1100, "height": 800})
            open_notebook(page, address)
            failed += check_opened(page)
            for package, text in CASES:
                failed += check(page, module, package, text, "")
            run_first_cell(page)
            failed += check(page, module, *LATER, "-later")
            failed += check_live(page, module)
            chromium.close()
    except (Error, RuntimeError) as error:
        print(f"FAIL {error}; see {(FOLDER / 'lab.log').relative_to(ROOT)}")
        return 1
    finally:
        stop(server)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
