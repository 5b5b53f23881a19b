"""Tests of gobuild.py, and of how `make lab` builds gopls: python3 -m unittest tools/test_gobuild.py"""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A go command that compiles two packages, the first of which takes three seconds.
SLOW = """#!/bin/sh
case "$*" in
"list -deps tool") ;;
"list -e"*) printf 'a/slow\\nb/fast\\n' ;;
"install -v tool") echo a/slow >&2; sleep 3.5; echo b/fast >&2 ;;
*) exit 9 ;;
esac
"""


class TestGobuild(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def command(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def test_shows_progress_while_a_package_compiles(self) -> None:
        self.command("go", SLOW)
        ours, its = pty.openpty()
        env = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        command = [sys.executable, ROOT / "tools/gobuild.py", "-label", "it", "install", "tool"]
        with subprocess.Popen(command, env=env, stderr=its) as process:
            os.close(its)
            shown = b""
            try:
                while piece := os.read(ours, 1000):
                    shown += piece
            except OSError:  # the other end of the terminal is closed
                pass
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        waiting = set(re.findall(rb"it: compiled 1 of 2 packages in [\d.]+ s", shown))
        self.assertGreater(len(waiting), 2, shown)
        self.assertIn(b"it: compiled 2 packages in", shown)

    def test_links_nothing(self) -> None:
        (self.folder / "go.mod").write_text("module m\ngo 1.24\n")
        # This cannot be linked.
        (self.folder / "main.go").write_text("package main\nfunc missing()\nfunc main() { missing() }\n")
        (self.folder / "empty.s").touch()
        command = [sys.executable, ROOT / "tools/gobuild.py", "-C", self.folder, "-label", "it", "compile", "."]
        first, again = (subprocess.run(command, capture_output=True, text=True) for _ in range(2))
        self.assertIn("it: compiled 1 package in", first.stderr)
        self.assertEqual((first.returncode, again.returncode, again.stderr), (0, 0, ""))

    def test_lab_starts_before_gopls_is_built(self) -> None:
        # A copy of the Makefile and the tools; gopls is never finished, and what follows records that it was started.
        shutil.copy(ROOT / "Makefile", self.folder)
        for name in (".tools", "tools", "notebooks"):
            (self.folder / name).mkdir()
        self.command("tools/setup", f"#!/bin/sh\n[ $1 = check ] || {{ touch {self.folder}/building; sleep 100; touch {self.folder}/built; }}\n")
        self.command("tools/env", f"#!/bin/sh\ncase $* in *jupyterlab*) while [ ! -e {self.folder}/building ]; do sleep 0.1; done;"
                                  f" echo JupyterLab runs $$ ;; esac\n")
        done = subprocess.run(["make", "-o", "setup", "lab"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("JupyterLab runs", done.stdout)
        self.assertIn("building gopls", done.stdout)
        self.assertFalse((self.folder / "built").exists())


if __name__ == "__main__":
    unittest.main()
