"""Tests of accelerator.py: python3 -m unittest tools/test_accelerator.py"""

import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import accelerator  # noqa: E402


class TestMachine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = folder.name
        quiet = contextlib.redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def machine(self, seconds=600.0):
        return accelerator.Machine("qdnb", "cpu", self.out, seconds)

    def shell(self, machine, command, most=600.0):
        return machine.run("a stage", ["sh", "-c", command], most)

    def test_output_is_returned_and_kept(self):
        self.assertEqual(self.shell(self.machine(), "echo $QDNB_NO_DOWNLOAD $QDNB_BACKEND"), "1 cpu\n")
        self.assertEqual(os.listdir(self.out), ["a-stage.log"])

    def test_failures_are_rows_of_the_summary(self):
        machine = self.machine()
        self.assertIsNone(self.shell(machine, "echo broken; exit 3"))
        self.assertEqual(machine.rows, [("a stage", "broken", "FAIL")])
        with open(os.path.join(self.out, "summary.md"), encoding="utf-8") as file:
            self.assertIn("| a stage | broken | FAIL |", file.read())

    def test_late_commands_are_killed(self):
        machine = self.machine()
        self.assertIsNone(self.shell(machine, "sleep 600", 0.1))
        self.assertEqual(machine.rows[0][2], "no time")

    def test_nothing_starts_after_the_deadline(self):
        machine = self.machine(0)
        self.assertIsNone(self.shell(machine, f"touch {self.out}/started"))
        self.assertNotIn("started", os.listdir(self.out))
        self.assertEqual(machine.rows, [("a stage", "no time left", "no time")])


if __name__ == "__main__":
    unittest.main()
