"""Tests of install_kernel.py. They need `make setup`."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CELL = 'import (\n\t"fmt"\n\n\t"example.com/qdnb/qdnb/stats"\n)\n\n%%\nfmt.Println("median", stats.Median([]float64{1, 2, 6}))'


class TestKernel(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Of the caller's environment only what another front end would pass on: Go is not in its PATH.
        self.env = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "JUPYTER_DATA_DIR": str(self.folder / "data")}

    def install(self, *args: str) -> "subprocess.CompletedProcess[str]":
        env = os.environ | {"JUPYTER_DATA_DIR": self.env["JUPYTER_DATA_DIR"]}
        return subprocess.run([sys.executable, ROOT / "tools/install_kernel.py", *args], env=env, capture_output=True, text=True)

    def test_cell_finds_the_checkout_from_another_folder(self) -> None:
        module = (ROOT / "go.mod").read_text().split()[1]
        done = self.install("elsewhere")
        self.assertEqual(done.returncode, 0, done.stderr)
        cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [],
                "source": CELL.replace("example.com/qdnb", module)}
        notebook = self.folder / "content" / "a.ipynb"
        notebook.parent.mkdir()
        notebook.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}))
        command = [ROOT / ".tools/venv/bin/python", ROOT / "tools/notebook.py", "run", notebook, "--kernel", "elsewhere",
                   "--out", self.folder, "--log", self.folder]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("median 2", (self.folder / "a.ipynb").read_text())

    def test_keeps_another_kernel(self) -> None:
        other = self.folder / "data/kernels/gonb/kernel.json"
        other.parent.mkdir(parents=True)
        other.write_text('{"argv": ["gonb"]}')
        done = self.install()
        self.assertEqual(done.returncode, 1)
        self.assertIn("KERNEL=qdnb", done.stderr)
        self.assertEqual(other.read_text(), '{"argv": ["gonb"]}')


if __name__ == "__main__":
    unittest.main()
