"""Tests of notebook.py: python3 -m unittest tools/test_notebook.py"""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# These packages are in .tools/venv only; the tests do not call them.
JUPYTER = """jupyter_client jupyter_client.kernelspec nbclient nbclient.exceptions nbclient.util
    nbconvert nbformat""".split()
with mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in JUPYTER}):
    import notebook


class TestSideBySide(unittest.TestCase):
    def test_a_killed_process_is_a_failure(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = Path(folder.name) / "one.py"
        script.write_text("import os, sys\nif 'killed' in sys.argv[2]: os.kill(os.getpid(), 9)\n")
        notebooks = [Path("a.ipynb"), Path("killed.ipynb")]
        args = argparse.Namespace(command="run", notebooks=notebooks, jobs=2)
        out = io.StringIO()
        with mock.patch.object(notebook, "__file__", str(script)), contextlib.redirect_stdout(out):
            self.assertEqual(notebook.run_side_by_side(args), 1)
        self.assertEqual(out.getvalue(), "FAIL killed.ipynb: its process was ended by signal 9\n")


if __name__ == "__main__":
    unittest.main()
