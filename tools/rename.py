"""rename.py NAME: changes the Go module path in all text files of the checkout that git does not ignore."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = re.compile(r"[a-z0-9][a-z0-9.-]*\.[a-z]+(/[A-Za-z0-9._~-]+)+")


def replace(text: str, old: str, new: str) -> str:
    """Replaces a module path. With more of the same path element around it, as in example.com/qdnb2 or registry.example.com/qdnb,
    it is another path."""
    return re.sub(r"(?<![\w.~-])" + re.escape(old) + r"(?![\w.~-]*[\w~-])", lambda _: new, text)


def rename(root: Path, new: str) -> int:
    """Changes the module path of a checkout and returns the number of files that contained it."""
    old = re.search(r"^module (\S+)", (root / "go.mod").read_text(encoding="utf-8"), re.MULTILINE).group(1)
    if old == new:
        return 0
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True, text=True).stdout
    changed = []
    for name in filter(None, listed.split("\0")):
        path = root / name
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if old.encode() not in data or b"\0" in data:
            continue
        after = replace(data.decode(), old, new).encode()
        if after != data:
            path.write_bytes(after)
            changed.append(name)
    sources = [name for name in changed if name.endswith(".go")]
    if sources:
        subprocess.run(["gofmt", "-w", *sources], cwd=root, check=True)
    return len(changed)


def main() -> int:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if not NAME.fullmatch(name):
        print(f"rename: {name or 'nothing'} is not a module path; for example: make module NAME=github.com/you/qdnb", file=sys.stderr)
        return 1
    if count := rename(ROOT, name):
        print(f"the module path is now {name}, in {count} files; `git diff --stat` shows them")
    else:
        print(f"the module path is already {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
