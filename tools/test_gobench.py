"""Tests of gobench.py: python3 -m unittest tools/test_gobench.py"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gobench  # noqa: E402

PRINTED = """backend: cpu
workers: 2
pkg: example.com/qdnb/bench
BenchmarkRollout-2   \t       3\t 123456 ns/op\t       1.500 best-s\t   1.2e+06 env-steps/s
PASS
"""


class TestBenchmarks(unittest.TestCase):
    def test_numbers_and_configuration_are_read(self):
        found = gobench.parse(PRINTED)
        self.assertEqual((found["best-s"], found["env-steps/s"], found["workers"]), (1.5, 1.2e6, "2"))

    def test_a_failure_is_empty(self):
        self.assertEqual(gobench.parse("--- FAIL: BenchmarkRollout\nbackend: cpu\n"), {})

    def test_commands_name_one_benchmark(self):
        self.assertEqual(gobench.command("b", "Rollout 3x -env ant-uni"),
                         ["b", "-test.run=^$", "-test.bench=^BenchmarkRollout$", "-test.benchtime=3x", "-env", "ant-uni"])


if __name__ == "__main__":
    unittest.main()
