"""release.py OUT: makes a release of the commit that is checked out.

OUT/proxy is a tree of modules that `GOPROXY=file://OUT/proxy` serves. OUT has a program for each system that this machine can
compile for, and SHA256SUMS. The version is the commit's tag (`git tag v1.2.3`), or else what the go command calls a commit
without one. The compiler is Zig's, of the PyPI package ziglang, so that the programs run on Linux from glibc 2.28 on.
The last lines say what could not be made.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ZIG = ROOT / ".tools" / "zig" / "bin" / "python"
# System, processor, and Zig's name for both; tools/macos compiles for macOS.
TARGETS = [("linux", "amd64", "x86_64-linux-gnu.2.28"), ("linux", "arm64", "aarch64-linux-gnu.2.28"), ("darwin", "arm64", "")]


class Refused(Exception):
    """There can be no release; the text is one line."""


def run(*args: str, **more: object) -> str:
    return subprocess.run(args, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, **more).stdout  # type: ignore[call-overload]


def escaped(text: str) -> str:
    """A module's path or version as a proxy names its files."""
    return re.sub("[A-Z]", lambda letter: "!" + letter[0].lower(), text)


def members(names: list[str]) -> list[str]:
    """The files of a module: of all files, those outside of nested modules and of vendored packages."""
    nested = [str(Path(name).parent) + "/" for name in names if Path(name).name == "go.mod" and name != "go.mod"]
    return [name for name in names if not name.startswith(tuple(nested)) and "vendor" not in Path(name).parts[:-1]]


def write_module(proxy: Path, module: str, version: str, commit: str, time: str) -> None:
    """Adds the committed files of a version of a module to a proxy's tree (https://go.dev/ref/mod#goproxy-protocol)."""
    folder = proxy / escaped(module) / "@v"
    folder.mkdir(parents=True, exist_ok=True)
    listed = run("git", "ls-tree", "-r", "-z", commit).rstrip("\0").split("\0")
    names = [line.partition("\t")[2] for line in listed if not line.startswith("120000")]  # no links
    with zipfile.ZipFile(folder / f"{escaped(version)}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in members(names):
            data = subprocess.run(["git", "cat-file", "blob", f"{commit}:{name}"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
            archive.writestr(zipfile.ZipInfo(f"{module}@{version}/{name}", (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    (folder / f"{escaped(version)}.mod").write_text(run("git", "show", f"{commit}:go.mod"))
    origin = {"VCS": "git", "Hash": commit}
    (folder / f"{escaped(version)}.info").write_text(json.dumps({"Version": version, "Time": time, "Origin": origin}) + "\n")
    versions = set((folder / "list").read_text().split() if (folder / "list").exists() else [])
    if not re.search(r"\d{14}-[0-9a-f]{12}$", version):  # a proxy lists only tags
        versions.add(version)
    (folder / "list").write_text("".join(f"{v}\n" for v in sorted(versions)))
    (folder.parent / "@latest").write_text((folder / f"{escaped(version)}.info").read_text())


def compile_program(out: Path, system: str, processor: str, target: str) -> Path:
    """Compiles the command; it raises an error whose text is the compiler's."""
    program = out / f"qdnb-{system}-{processor}"
    command, environment = [ROOT / "tools" / "macos", program], dict(os.environ)
    if target:
        command = ["go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", program, "./cmd/qdnb"]
        environment |= {"GOOS": system, "GOARCH": processor, "CGO_ENABLED": "1", "CC": f"{ZIG} -m ziglang cc -target {target}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return program


def version_of(program: Path) -> str:
    """The version that the go command recorded in a program."""
    return next(line.split()[2] for line in run("go", "version", "-m", str(program)).splitlines() if line.split()[0] == "mod")


def pack(program: Path, version: str, seconds: int) -> Path:
    """Packs a program with its licence; the same files give the same bytes."""
    name = program.name.replace("qdnb-", f"qdnb-{version}-")
    path = program.with_name(name + ".tar.gz")
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=seconds) as stream, \
            tarfile.open(fileobj=stream, mode="w") as archive:  # type: ignore[arg-type]
        for source in (program, ROOT / "LICENSE", ROOT / "NOTICE"):
            data = source.read_bytes()
            info = tarfile.TarInfo(f"{name}/{'qdnb' if source == program else source.name}")
            info.size, info.mtime, info.mode = len(data), seconds, 0o755 if source == program else 0o644
            archive.addfile(info, io.BytesIO(data))
    program.unlink()
    return path


def release(out: Path) -> list[str]:
    """Makes the release and returns what it lacks."""
    if changed := run("git", "status", "--porcelain").strip():
        raise Refused(f"a release is of a commit, but {changed.splitlines()[0].split()[-1]} is changed: commit or stash it")
    if (ROOT / ".git").is_file():
        raise Refused("make the release in a clone: in a worktree of git the go command finds no version")
    module = re.search(r"^module (\S+)", (ROOT / "go.mod").read_text(), re.MULTILINE).group(1)  # type: ignore[union-attr]
    commit, seconds, time = run("git", "show", "-s", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%H %ct %cd", "HEAD",
                                env=os.environ | {"TZ": "UTC"}).split()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("qdnb-*"):
        old.unlink()
    programs, lacking = [], []
    for target in TARGETS:
        print(f"== compiling for {target[0]}/{target[1]}", flush=True)
        try:
            programs.append(compile_program(out, *target))
        except RuntimeError as error:
            (out / f"{target[0]}-{target[1]}.log").write_text(str(error))
            lacking.append(f"{target[0]}/{target[1]}: it does not link here; see {out.name}/{target[0]}-{target[1]}.log")
    if not programs:
        raise Refused(f"nothing could be compiled; see {out}/*.log")
    version = version_of(programs[0])
    print(f"== packing {module} {version}", flush=True)
    write_module(out / "proxy", module, version, commit, time)
    packed = [pack(program, version, int(seconds)) for program in programs]
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in packed]
    (out / "SHA256SUMS").write_text("".join(sums))
    (out / "VERSION").write_text(f"{module}@{version}\n")
    for path in packed:
        print(f"{path.stat().st_size / 1e6:7.1f} MB  {path}")
    print(f"the module: GOPROXY=file://{out}/proxy,$(go env GOPROXY) GONOSUMDB={module} go install {module}/cmd/qdnb@{version}")
    return lacking


def main() -> int:
    try:
        lacking = release(Path(sys.argv[1]).absolute())
    except Refused as refused:
        print(f"release: {refused}", file=sys.stderr)
        return 1
    for what in lacking:
        print(f"make release: LACKS {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
