"""Tests of event files with TensorBoard, which is optional: python3 -m unittest tools/test_tensorboard.py"""

import csv
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@unittest.skipUnless(importlib.util.find_spec("tensorboard"), "tensorboard is not installed")
class TestTensorBoard(unittest.TestCase):
    def test_scalars_are_those_of_the_metrics(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["go", "build", "-o", folder, "./cmd/qdnb"], cwd=ROOT, check=True)
            train = [folder + "/qdnb", "train", "--algorithm", "map-elites", "--env", "arm", "--backend", "go", "--json", "--quiet", "--tensorboard",
                     "--runs", folder, *(word for s in ("batch=8", "cells=16", "cvt_samples=100") for word in ("--set", s))]
            for generations in ("2", "5"):  # the second extends the run
                done = subprocess.run([*train, "--generations", generations], check=True, capture_output=True, text=True)
                run = json.loads(done.stdout)["run"]
                events = EventAccumulator(os.path.join(run, "tensorboard"))
                events.Reload()
                with open(os.path.join(run, "metrics.csv"), encoding="utf-8") as file:
                    rows = list(csv.DictReader(file))
                self.assertEqual(len(rows), int(generations) + 1)
                self.assertEqual(set(events.Tags()["scalars"]), set(rows[0]) - {"generation", "final"})
                for name in events.Tags()["scalars"]:
                    got = [(e.step, e.value) for e in events.Scalars(name)]
                    for (step, value), row in zip(got, rows, strict=True):
                        self.assertEqual(step, int(row["generation"]))
                        self.assertAlmostEqual(value, float(row[name]), delta=1e-6 * max(1, abs(value)))


if __name__ == "__main__":
    unittest.main()
