"""try_release.py RELEASE: tries a release (release.py) as somebody does who has Go and Jupyter, but no checkout.

In an empty home with an empty module cache: the packed program for this system; `go install` of the command; and a cell of a GoNB
that was installed by `go install`, which gets the module. The release serves this project's module, and the go command's usual
proxy all others, or this machine's module cache if it has them. Runs in .tools/venv.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GONB = "github.com/janpfeifer/gonb@v0.11.5"
GOIMPORTS = "golang.org/x/tools/cmd/goimports@"  # GoNB calls it; the version is that of tools/go.mod
TRAIN = ["train", "--algorithm", "map-elites", "--env", "pointmaze", "--generations", "2", "--set", "batch=8", "--set", "hidden=4,4",
         "--set", "cells=16", "--set", "cvt_samples=100", "--quiet", "--backend", "go"]


def run(*args: object, env: dict[str, str], cwd: Path | str | None = None) -> str:
    done = subprocess.run([str(a) for a in args], env=env, cwd=cwd or env["HOME"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"test-release: `{' '.join(map(str, args))}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def go_env(name: str) -> str:
    return subprocess.run(["go", "env", name], check=True, capture_output=True, text=True).stdout.strip()


def check_program(program: Path, version: str, commit: str, env: dict[str, str]) -> None:
    """A program knows its version and commit, writes them into runs, and trains."""
    said = run(program, "version", env=env)
    help_text = run(program, "--help", env=env)
    for text, where in ((said, "version"), (help_text, "help")):
        if version not in text or commit[:12] not in text:
            raise SystemExit(f"test-release: `qdnb {where}` of {program} does not say {version} and {commit[:12]}:\n{text}")
    runs = Path(env["HOME"]) / f"runs-{program.parent.name}"
    run(program, *TRAIN, "--runs", runs, env=env)
    status = json.loads(next(runs.glob("*/status.json")).read_text())
    machine = status["machines"][0]
    if machine["version"] != version or machine["commit"][:12] != commit[:12]:
        raise SystemExit(f"test-release: status.json of {program} says {machine}")


def main() -> None:
    release = Path(sys.argv[1]).absolute()
    module, _, version = (release / "VERSION").read_text().strip().partition("@")
    info = json.loads((release / "proxy" / module / "@v" / f"{version}.info").read_text())
    commit = info["Origin"]["Hash"]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        proxies = [f"file://{release}/proxy", f"file://{go_env('GOMODCACHE')}/cache/download", go_env("GOPROXY")]
        env = {
            "HOME": folder, "PATH": os.pathsep.join([f"{home}/go/bin", str(Path(go_env("GOROOT")) / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
            "GOPROXY": ",".join(proxies), "GONOSUMDB": module, "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local",
            "GOCACHE": go_env("GOCACHE"),  # what is compiled is the same anywhere
            "QDNB_NO_DOWNLOAD": "1", "JUPYTER_DATA_DIR": f"{home}/jupyter", "JUPYTER_PATH": f"{home}/jupyter",
        }

        processor = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
        packed = next(release.glob(f"qdnb-{version}-{sys.platform}-{processor}.tar.gz"))
        run("sha256sum", "--check", "--ignore-missing", "SHA256SUMS", env=env, cwd=release)
        with tarfile.open(packed) as archive:
            archive.extractall(home, filter="data")
        check_program(home / packed.name.removesuffix(".tar.gz") / "qdnb", version, commit, env)
        print(f"ok   {packed.name} runs, and knows its version and commit", flush=True)

        run("go", "install", f"{module}/cmd/qdnb@{version}", env=env)
        tag = commit if re.search(r"\d{14}-[0-9a-f]{12}$", version) else f"tag {version}"
        check_program(home / "go" / "bin" / "qdnb", version, tag, env)
        print(f"ok   go install {module}/cmd/qdnb@{version}", flush=True)

        tools = re.search(r"golang.org/x/tools (v\S+)", (ROOT / "tools" / "go.mod").read_text()).group(1)  # type: ignore[union-attr]
        run("go", "install", GONB, env=env)
        run("go", "install", GOIMPORTS + tools, env=env)
        run("gonb", "--install", "--force_deps", env=env)
        cells = [f"!*go get {module}/qdnb@{version}",
                 f'import (\n\t"fmt"\n\n\t"{module}/qdnb/session"\n)\n\n%%\nfmt.Println(session.Build())']
        notebook = home / "own.ipynb"
        notebook.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"cell_type": "code", "id": str(i), "metadata": {}, "execution_count": None, "outputs": [], "source": cell}
            for i, cell in enumerate(cells)]}))
        run(sys.executable, ROOT / "tools" / "notebook.py", "run", notebook, "--out", home / "out", "--log", home / "log",
            "--timeout", "900", env=env)
        printed = (home / "out" / "own.ipynb").read_text()
        if version not in printed.partition('"id": "1"')[2]:
            raise SystemExit(f"test-release: the cell printed something else:\n{printed}")
        print("ok   one line in a cell of a GoNB of one's own gets the module", flush=True)
    print(f"make test-release: all passed, with {module}@{version}")


if __name__ == "__main__":
    main()
