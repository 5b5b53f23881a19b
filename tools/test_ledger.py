"""Tests of ledger.py: python3 -m unittest tools/test_ledger.py"""

import dataclasses
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ledger  # noqa: E402

ABOUT = {"machine": "a machine", "commit": "0123abcd", "qdnb": "go1", "peer": "jax 1", "qdnb_mb": 300, "peer_mb": 0}


def row(case="ant-uni", against="whole", ours=(1.0, 2.0, 1.0), peers=(10.0, 22.0, 12.0), **changed):
    made = ledger.row("rollout", case, "running", against, 0 if against == "whole" else 16, list(ours), list(peers), **ABOUT)
    return dataclasses.replace(made, **changed)


class TestLedger(unittest.TestCase):
    def test_ratios_are_those_of_rounds(self):
        r = row()
        self.assertEqual((r.ratio, r.low, r.high, r.rounds, r.qdnb_s, r.peer_s), (11.0, 10.0, 12.0, 3, 1.0, 12.0))
        with self.assertRaises(ValueError):
            row(peers=(1.0,))

    def test_what_is_written_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "performance.csv")
            self.assertEqual(ledger.read(path), [])
            rows = [row(), row("walker, 2", "best slices")]
            ledger.write(path, rows)
            self.assertEqual(ledger.read(path), rows)
            for damage, said in (("rollout", "columns"), ("11.0", "line 2")):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace(damage, "x") if damage != "rollout" else "machine,x\n")
                with self.assertRaisesRegex(ledger.Damaged, said):
                    ledger.read(path)
                ledger.write(path, rows)

    def test_the_newest_measurement_is_shown(self):
        old = [row(), row(machine="another"), row(stage="updates")]
        new = [row(ours=(2.0,), peers=(8.0,)), row("walker-uni")]
        step = row(against="", machine="a third", stage="make test")
        got = ledger.latest([*old, *new, step])
        self.assertEqual([(r.machine, r.stage, r.case, r.ratio) for r in got], [
            ("a machine", "rollout", "ant-uni", 4.0), ("a machine", "rollout", "walker-uni", 11.0), ("a machine", "updates", "ant-uni", 11.0),
            ("another", "rollout", "ant-uni", 11.0),
        ])

    def test_regressions_are_of_ratios(self):
        old = [row()]
        slow = [row(ours=(2.0,), peers=(2 * 7.9,))]
        slower, unknown = ledger.regressions(old, slow, 0.2)
        self.assertTrue(len(slower) == 1 and not unknown and "7.90" in slower[0] and "10.00 to 12.00" in slower[0], slower)
        both = [row(ours=(100.0,), peers=(100 * 8.1,)), row("walker-uni")]  # a slow machine is slow for both
        slower, unknown = ledger.regressions(old, both, 0.2)
        self.assertTrue(not slower and len(unknown) == 1 and "walker-uni" in unknown[0], (slower, unknown))

    def test_the_page_shows_the_ledger(self):
        path = os.path.join(ledger.FOLDER, "performance")
        rows = ledger.read(path + ".csv")
        self.assertTrue(rows)
        for r in ledger.latest(rows):
            self.assertTrue(0 < r.low <= r.ratio <= r.high, r)
        with open(path + ".md", encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.partition(ledger.BEGIN)[2].partition(ledger.END)[0].strip(), ledger.table(rows).strip())

    def test_the_fastest_peer_is_shown(self):
        table = ledger.table([row(), row(against="slices", peers=(9.0, 20.0, 11.0), slicing=4)])
        self.assertTrue("slices of 4 | 1 | 11 |" in table and "whole" not in table, table)

    def test_steps_keep_their_status(self):
        for command, status in (("pass", 0), ("raise SystemExit(3)", 3)):
            self.assertEqual(ledger.step("a step", [sys.executable, "-c", command], keep=False), status)

    def test_recording_changes_the_table_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "performance.md")
            with open(page, "w", encoding="utf-8") as file:
                file.write(f"before\n{ledger.BEGIN}\n{ledger.END}\nafter\n")
            for _ in range(2):
                ledger.record([row()], folder)
            with open(page, encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"), text)
            self.assertEqual(text.count("| **11.00** (10.00–12.00) |"), 1)
            with open(page, "w", encoding="utf-8") as file:
                file.write("no table\n")
            with self.assertRaises(ledger.Damaged):
                ledger.record([row()], folder)


if __name__ == "__main__":
    unittest.main()
