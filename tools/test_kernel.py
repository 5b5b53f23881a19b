"""Tests of install_kernel.py. They need `make setup`."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CELL = 'import (\n\t"fmt"\n\n\t"example.com/qdnb/qdnb/stats"\n)\n\n%%\nfmt.Println("median", stats.Median([]float64{1, 2, 6}))'

COUNT = "for i := range 300 {\n\tfmt.Println(i)\n\ttime.Sleep(100 * time.Millisecond)\n}"
# The time that SAVE takes is longer than WaitToKill of GoNB.
SAVE = ("stop := make(chan os.Signal, 1)\nsignal.Notify(stop, os.Interrupt)\nfmt.Println(\"stop\")\n<-stop\n"
        "time.Sleep(6 * time.Second)\nfmt.Println(\"saved\")")
# Cells in the order in which they run, and what their status, outputs and error say. One near the end shows that
# the kernel and its declarations live.
CELLS = [
    ({"cells": ["func kept() string { return \"kept\" }\n\n%%\nfmt.Println(1)"]}, [r"ok\n1$"]),
    ({"cells": ["%%\nfmt.Println(1)\n%%\nfmt.Println(2)"]}, [r'error\nline 3: "%%" starts main, as "%%" in line 1 does already']),
    ({"cells": ["%%\nfmt.Println(1)\n%main\nfmt.Println(2)"]}, [r'error\nline 3: "%main" starts main']),
    ({"cells": ["%main\nfmt.Println(1)\n%exec kept"]}, [r'error\nline 3: "%exec kept" starts main']),
    ({"cells": ["func main() {}\n\n%%\nfmt.Println(2)"]}, [r"error\nline 3: a second main function"]),
    ({"cells": ["% "]}, ["ok"]),
    ({"cells": ["%%script"]}, [r"error\n%%script requires the name of a program"]),
    ({"cells": ["%%\nfmt.Fprintln(os.Stderr, \"main.go:9223372036854775807\")\nos.Exit(3)"]}, [r"error\nmain\.go:9.*\nexit status 3"]),
    ({"cells": ["import _ \"embed\"\n\n//go:embed a.txt\nvar text string\n\n%%\nfmt.Println(text)"]},
     [r'error\nline 3: cells do not support "//go:embed a.txt": read the file with os.ReadFile']),
    ({"cells": ["%%\r\nfmt.Println(kept())\r\n"]}, [r"ok\nkept"]),
    ({"cells": ["%%\nvar x int\n_, err := fmt.Scanln(&x)\nfmt.Println(x, err)"]}, [r"ok\n0 EOF\nThis notebook does not ask for input"]),
    ({"cells": ["%%\nvar x int\n_, err := fmt.Scanln(&x)\nfmt.Println(x, err)"], "input": "42"}, [r"ok\n42 <nil>"]),
    ({"cells": ["%%\nn, err := syscall.Read(0, make([]byte, 8))\nfmt.Println(n, err)"], "input": "42"}, [r"ok\n0 <nil>"]),
    ({"cells": ["%%\ngo func() {\n\tpanic(\"in a goroutine\")\n}()\nselect {}"]},
     [r"error\npanic: in a goroutine.*Cell \[\d+\] Line 3.*Cell \[\d+\] Line 2"]),
    ({"cells": ["%%\n_, file, line, _ := runtime.Caller(0)\nfor _, piece := range strings.SplitAfter(fmt.Sprintf(\"%s:%d +0x1d\", file, line), \"\") {\n"
                "\tos.Stderr.WriteString(piece)\n\ttime.Sleep(10 * time.Millisecond)\n}"]}, [r"ok\n.*Cell \[\d+\] Line 2.*main\.go:\d+ \+0x1d"]),
    ({"cells": ["%%\n" + COUNT, "%%\nfmt.Println(\"later\")"], "stop": 0.1}, [r"error\ninterrupted before the program of the cell started", "aborted"]),
    ({"cells": ["%goflags -a\n%%\n" + COUNT], "stop": 2}, [r"error\n%goflags.*\ninterrupted before the program of the cell started"]),
    ({"cells": ["%goflags \"\"\n%goflags -a\n%%\n" + COUNT], "stop": 2, "by_message": True}, [r"error\n(%goflags.*\n)*interrupted before"]),
    ({"cells": ["%goflags \"\"\n%%\nfmt.Println(kept())"]}, [r"ok\n%goflags.*\nkept"]),
    ({"cells": ["%%\n" + SAVE], "stop": "stop"}, [r"ok\nstop\nsaved"]),
    ({"cells": ["%%\nsignal.Ignore(os.Interrupt)\nfor {\n\tfmt.Println(\"stop\")\n\ttime.Sleep(time.Second)\n}"],
      "stop": "stop"}, [r"error\n(stop\n)+signal: killed"]),
]


class Kernel(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Of the caller's environment only what another front end would pass on: Go is not in its PATH.
        self.env = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "JUPYTER_DATA_DIR": str(self.folder / "data")}

    def install(self, *args: str) -> "subprocess.CompletedProcess[str]":
        env = os.environ | {"JUPYTER_DATA_DIR": self.env["JUPYTER_DATA_DIR"]}
        return subprocess.run([sys.executable, ROOT / "tools/install_kernel.py", *args], env=env, capture_output=True, text=True)


class TestKernel(Kernel):
    def test_installed_from_a_terminal_of_jupyterlab_it_names_go_itself(self) -> None:
        command = [ROOT / "tools/env", "bash", "-c", 'JUPYTER_DATA_DIR=$0 python "$1" elsewhere', self.folder / "data",
                   ROOT / "tools/install_kernel.py"]
        subprocess.run(command, capture_output=True, check=True)
        spec = json.loads((self.folder / "data/kernels/elsewhere/kernel.json").read_text())
        self.assertEqual(Path(spec["env"]["QDNB_GO"]), Path(os.environ.get("QDNB_GO") or shutil.which("go")))

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
        # JupyterLab writes the kernel's description of the language into notebooks: another one changes them.
        ran, shipped = json.loads((self.folder / "a.ipynb").read_text()), json.loads((ROOT / "notebooks/quickstart.ipynb").read_text())
        self.assertEqual(ran["metadata"]["language_info"], shipped["metadata"]["language_info"])

    def test_cells_of_a_front_end(self) -> None:
        self.assertEqual(self.install("elsewhere").returncode, 0)
        done = subprocess.run([ROOT / ".tools/venv/bin/python", ROOT / "tools/kernel_client.py", "elsewhere", self.folder],
                              env=self.env, input=json.dumps([step for step, _ in CELLS]), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = iter(json.loads(done.stdout))
        for step, wanted in CELLS:
            for source, want in zip(step["cells"], wanted):
                cell = next(cells)
                with self.subTest(source):
                    self.assertRegex("\n".join(text.strip() for text in cell.values() if text), re.compile(f"^{want}", re.DOTALL))

    def test_python_reads_repertoires(self) -> None:
        run = next(ROOT.glob("notebooks/results-skills/runs/map-elites-pointmaze-0-*"))
        cell = f"import numpy\n\nr = numpy.load({str(run / 'repertoire.npz')!r})\nprint(r['fitnesses'].argmax(), r['genotypes'].shape)"
        done = subprocess.run([ROOT / "tools/env", "python", ROOT / "tools/kernel_client.py", "python3", self.folder],
                              input=json.dumps([{"cells": [cell]}]), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(json.loads(done.stdout)[0]["stdout"], r"^\d+ \(\d+, \d+\)")

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
