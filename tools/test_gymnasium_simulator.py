"""Tests of gymnasium_simulator.py: python3 -m unittest tools/test_gymnasium_simulator.py"""

import array
import base64
import importlib.util
import json
import os
import subprocess
import sys
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gymnasium_simulator.py")


@unittest.skipUnless(importlib.util.find_spec("gymnasium"), "SKIPPED: gymnasium is not installed")
class TestGymnasium(unittest.TestCase):
    def test_answers_are_returns_of_the_environment(self):
        for env, more in [("Pendulum-v1", []), ("CartPole-v1", ["--lower", "-1", "--upper", "1"])]:
            with subprocess.Popen([sys.executable, TOOL, env, "--hidden", "4", *more], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                facts = json.loads(process.stdout.readline())
                n = (facts["observations"] + 1) * 4 + 5 * facts["actions"]
                answers = []
                for _ in range(2):
                    rows = base64.b64encode(array.array("f", [0.1 * (i % 7 - 3) for i in range(3 * n)])).decode()
                    process.stdin.write(json.dumps({"count": 3, "genotypes": rows}) + "\n")
                    process.stdin.flush()
                    answers.append(process.stdout.readline())
                process.stdin.close()
            self.assertEqual(answers[0], answers[1])
            fitness = array.array("f", base64.b64decode(json.loads(answers[0])["fitness"]))
            self.assertEqual(len(fitness), 3)
            for x in fitness:
                self.assertTrue(-17 * 200 < x < 0 if env == "Pendulum-v1" else 1 <= x <= 500, x)


if __name__ == "__main__":
    unittest.main()
