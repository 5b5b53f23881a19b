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


class TestArguments(unittest.TestCase):
    def test_values_that_make_no_sense_are_refused(self) -> None:
        for flags in (["--jobs", "0"], ["--timeout", "-1"], ["--expect-png", "-3"], ["--smoke", "--in-place"]):
            with mock.patch.object(sys, "argv", ["notebook.py", "run", "a.ipynb", *flags]), \
                    contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as refused:
                notebook.arguments()
            self.assertEqual(refused.exception.code, 2)


class TestStart(unittest.TestCase):
    def test_a_kernel_that_does_not_start_is_started_again(self) -> None:
        died = RuntimeError("Kernel died before replying to kernel_info")
        run = mock.Mock(side_effect=[died, died, 3])
        self.assertEqual(notebook.started(run), 3)
        for error, tries in ((died, 3), (RuntimeError("Kernel didn't respond in 600 seconds"), 1)):
            run = mock.Mock(side_effect=error)
            self.assertRaises(RuntimeError, notebook.started, run)
            self.assertEqual(run.call_count, tries)


class Node(dict):  # type: ignore[type-arg]
    """A NotebookNode."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__  # type: ignore[assignment]


class TestLines(unittest.TestCase):
    def test_unknown_commands_are_failures(self) -> None:
        said = Node(output_type="stream", name="stderr", text='"%." unknown or not implemented yet.\n')
        self.assertEqual(
            notebook.failures.failed_line(Node(outputs=[said])), "a line begins with %., which is no command"
        )
        said.text = "50 %\n"
        self.assertIsNone(notebook.failures.failed_line(Node(outputs=[said])))


class TestLastWords(unittest.TestCase):
    def test_progress_is_shown_above_the_figure_of_a_run(self) -> None:
        shown = lambda html: Node(output_type="display_data", data={"text/html": html})  # noqa: E731
        figure = shown("<img>")
        for outputs, words in [([], ""), ([figure], ""), ([shown("<b>5%</b><progress> left"), figure], "5% left"),
                               ([Node(output_type="stream", text="a\rb\n"), figure], "b")]:
            self.assertEqual(notebook.outputs.last_words(Node(outputs=outputs)), words)  # type: ignore[arg-type]


class TestFooter(unittest.TestCase):
    def test_names_the_code_and_the_runs(self) -> None:
        for printed, want in {
            "Runs shipped with qdnb: scale medium, trained on 2 cores\n  of an EPYC\n": "; runs shipped with qdnb, scale medium.*",
            "training: all 3 runs are complete in build/my runs\nreward: all 2 runs are complete in build/my runs\n":
                "; runs in `build/my runs`.*",
            "median 2\n": ".*",
        }.items():
            code = Node(id="a", outputs=[Node(output_type="stream", text=printed), Node(output_type="display_data")])
            nb = Node(cells=[code, Node(id="outputs", source="*Outputs of 1 January 2026, 0123456, 1 core.*")])
            notebook.outputs.sign(nb)  # type: ignore[arg-type]
            self.assertRegex(nb.cells[-1].source, r"^\*Outputs of \d\d \w+ \d{4}, ([0-9a-f]{7,}|an unknown commit)( with changes)?, \d+ cores")
            self.assertNotIn("0123456", nb.cells[-1].source)
            self.assertTrue(nb.cells[-1].source.endswith(want) and nb.cells[-1].source.count("runs") == want.count("runs"),
                            nb.cells[-1].source)


if __name__ == "__main__":
    unittest.main()
