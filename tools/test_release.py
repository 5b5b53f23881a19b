"""Tests of release.py: python3 -m unittest tools/test_release.py. `make test-release` tries a release."""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import release


class TestRelease(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "checkout"
        self.root.mkdir()
        for name in ("go.mod", "LICENSE", "NOTICE", "a/a.go", "tools/go.mod", "tools/b.go", "a/vendor/x.go", "vendored/y.go"):
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text("module example.com/Q\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a")
        patch = mock.patch.object(release, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)

    def git(self, *args: str) -> str:
        return subprocess.run(["git", *args], cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def test_a_module_lacks_nested_modules(self) -> None:
        proxy, commit = self.root.parent / "proxy", self.git("rev-parse", "HEAD")
        release.write_module(proxy, "example.com/Q", "v1.2.3", commit, "2026-11-28T00:00:00Z")
        release.write_module(proxy, "example.com/Q", "v0.0.0-20261128000000-0123456789ab", commit, "2026-11-28T00:00:00Z")
        folder = proxy / "example.com" / "!q" / "@v"  # as the go command asks for it
        with zipfile.ZipFile(folder / "v1.2.3.zip") as archive:
            self.assertEqual(sorted(archive.namelist()), [f"example.com/Q@v1.2.3/{name}" for name in
                                                          ("LICENSE", "NOTICE", "a/a.go", "go.mod", "vendored/y.go")])
        self.assertEqual(json.loads((folder / "v1.2.3.info").read_text())["Origin"]["Hash"], commit)
        self.assertEqual((folder / "v1.2.3.mod").read_text(), "module example.com/Q\n")
        self.assertEqual((folder / "list").read_text(), "v1.2.3\n")  # versions without a tag are not listed

    def test_a_changed_checkout_is_refused(self) -> None:
        (self.root / "new.go").write_text("package q\n")
        with self.assertRaisesRegex(release.Refused, "new.go is changed: commit"):
            release.release(self.root.parent / "out")

    def test_a_worktree_is_refused_before_anything_is_compiled(self) -> None:
        self.git("worktree", "add", "-q", "../other")
        other = self.root.parent / "other"
        with mock.patch.object(release, "ROOT", other), self.assertRaisesRegex(release.Refused, "in a clone"):
            release.release(self.root.parent / "out")

    def test_packing_gives_the_same_bytes(self) -> None:
        packed = []
        for folder in ("one", "two"):
            program = self.root.parent / folder / "qdnb-linux-amd64"
            program.parent.mkdir()
            program.write_text("program")
            path = release.pack(program, "v1.2.3", 1_700_000_000)
            self.assertEqual(path.name, "qdnb-v1.2.3-linux-amd64.tar.gz")
            packed.append(path.read_bytes())
        self.assertEqual(packed[0], packed[1])
        with tarfile.open(path) as archive:
            self.assertEqual(archive.getnames(), [f"qdnb-v1.2.3-linux-amd64/{name}" for name in ("qdnb", "LICENSE", "NOTICE")])


if __name__ == "__main__":
    unittest.main()
