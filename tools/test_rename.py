"""Tests of rename.py: python3 -m unittest tools/test_rename.py"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rename

ROOT = Path(__file__).resolve().parent.parent
OTHERS = "registry.example.com/qdnb example.com/qdnb2 example.com/qdnb.git example.com/qdnb-old"


class TestRename(unittest.TestCase):
    def test_other_paths_stay(self) -> None:
        for before, after in [("import \"example.com/qdnb/xla\"", "import \"github.com/you/q/xla\""),
                              ("example.com/qdnb@v0.0.0=PATH", "github.com/you/q@v0.0.0=PATH"),
                              ("is example.com/qdnb.", "is github.com/you/q."), (OTHERS, OTHERS)]:
            with self.subTest(before):
                self.assertEqual(rename.replace(before, "example.com/qdnb", "github.com/you/q"), after)

    def test_nothing_of_the_checkout_keeps_the_name(self) -> None:
        old = (ROOT / "go.mod").read_text().split()[1]
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
            for name in filter(None, listed.split("\0")):
                source = ROOT / name
                if source.is_file() and source.suffix in (".go", ".mod", ".ipynb", ".md", ".py"):
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    (copy / name).write_bytes(source.read_bytes())
            subprocess.run(["git", "init", "-q"], cwd=copy, check=True)
            self.assertGreater(rename.rename(copy, "github.com/you/quality"), 300)
            left = subprocess.run(["grep", "-rlF", "--include=*.go", "--include=*.mod", "--include=*.ipynb", "--include=*.md", f'{old}/', "."],
                                  cwd=copy, capture_output=True, text=True).stdout
            self.assertEqual(left, "")
            self.assertEqual((copy / "go.mod").read_text().split()[1], "github.com/you/quality")
            self.assertEqual(rename.rename(copy, "github.com/you/quality"), 0)


if __name__ == "__main__":
    unittest.main()
