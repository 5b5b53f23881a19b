#!/usr/bin/env python3
"""tools/licences.py: writes docs/licences.md, the licences of everything that qdnb links or installs; --check reports what is
missing there.

Needs the Go modules in Go's cache and, to write, the notebook tools of `make setup`.
"""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.join(ROOT, "docs", "licences.md")

# A phrase of each licence; the first one found in a text identifies it.
PHRASES = [
    ("CC-BY-4.0", "creative commons attribution 4.0"),
    ("FTL or GPL-2.0", "the freetype license"),
    ("OFL-1.1", "sil open font license"),
    ("MPL-2.0", "mozilla public license"),
    ("Apache-2.0", "apache license"),
    ("MIT", "permission is hereby granted, free of charge"),
    ("BSD-3-Clause", "neither the name"),
    ("BSD-3-Clause", "may not be used to endorse"),
    ("BSD-2-Clause", "redistributions of source code must retain"),
    ("ISC", "permission to use, copy, modify, and"),
]


def licence_of(folder):
    """The names of the licences in a module's folder."""
    found = []
    for name in sorted(os.listdir(folder)):
        if re.match(r"(licen[cs]e|copying)", name, re.I) and os.path.isfile(os.path.join(folder, name)):
            text = " ".join(open(os.path.join(folder, name), encoding="utf-8", errors="replace").read().lower().split())
            found += [licence for licence, phrase in PHRASES if phrase in text][:1]
    if not found:
        sys.exit(f"licences: no known licence in {folder}: read it, and add it to PHRASES in {sys.argv[0]}")
    return " and ".join(dict.fromkeys(found))


def modules(folder, *packages):
    """The modules of the packages: (path, version, folder)."""
    out = subprocess.run(
        ["go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", *packages],
        cwd=os.path.join(ROOT, folder), check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "GOWORK": "off"},
    ).stdout
    return [line.split(" ", 2) for line in sorted(set(out.splitlines()) - {""})]


def go_rows(folder, *packages):
    return [f"| {path} | {version} | {licence_of(directory)} |" for path, version, directory in modules(folder, *packages)]


def python_rows():
    """The packages in the notebooks' environment, by name; pip chooses the versions of indirect dependencies."""
    program = """
import importlib.metadata as m
for d in sorted(m.distributions(), key=lambda d: d.metadata["Name"].lower()):
    x = d.metadata
    text = x.get("License-Expression") or ""
    classifiers = [c.split(" :: ")[-1] for c in x.get_all("Classifier") or [] if c.startswith("License :: OSI Approved :: ")]
    short = (x.get("License") or "").strip()
    print(x["Name"], text or (short if 0 < len(short) < 40 and short != "UNKNOWN" else ", ".join(classifiers)) or "?", sep="|")
"""
    python = os.path.join(ROOT, ".tools", "venv", "bin", "python")
    if not os.path.exists(python):
        sys.exit("licences: the notebook tools are not installed: run `make setup` first")
    lines = subprocess.run([python, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return ["| {} | {} |".format(*line.split("|")) for line in lines]


def npm_rows():
    """The packages in the viewer's bundle, from the lock file; esbuild makes the bundle but is not part of it."""
    lock = json.load(open(os.path.join(ROOT, "qdnb", "plot", "viewer", "src", "package-lock.json")))
    rows = []
    for path, p in sorted(lock["packages"].items()):
        name = path.removeprefix("node_modules/")
        if name and not name.startswith("@esbuild/"):
            rows.append(f"| {name} | {p['version']} | {p['license']} | {'makes the bundle' if name == 'esbuild' else 'in every page'} |")
    return rows


def page():
    return "\n".join(
        [
            "# Licences of what qdnb uses",
            "",
            "qdnb is under the Apache License 2.0. [NOTICE](../NOTICE) lists what was taken from other projects.",
            "`tools/licences.py` writes this page. `make supply` and a test fail if a Go module is missing.",
            "",
            "## Linked into the program",
            "",
            "A binary of `cmd/qdnb` contains these modules. Their licence texts are in Go's module cache, next to",
            "their sources (`go list -m -f '{{.Dir}}' MODULE`).",
            "",
            "| module | version | licence |",
            "|---|---|---|",
            *go_rows(".", "./cmd/qdnb"),
            "",
            "The fonts of figures are Liberation's, under the SIL Open Font License.",
            "",
            "## In the pages of the viewer",
            "",
            "| package | version | licence | |",
            "|---|---|---|---|",
            *npm_rows(),
            "",
            "## Fetched by the set-up",
            "",
            "The XLA plugin (`xla-cpu-pjrt` from PyPI, or what go-xla's installer finds) is OpenXLA's,",
            "Apache-2.0 (https://github.com/openxla/xla). It is loaded at run time and not part of a binary.",
            "",
            "Go modules of the GoNB kernel and of goimports, which `make setup` builds into `.tools/bin`:",
            "",
            "| module | version | licence |",
            "|---|---|---|",
            *go_rows("tools", "tool"),
            "",
            "Python packages that `make setup` installs into `.tools/venv`:",
            "",
            "| package | licence, as it says itself |",
            "|---|---|",
            *python_rows(),
            "",
            "Some manual tests download programs: `make test-tab` Playwright (Apache-2.0), `make test-kubernetes`",
            "Kubernetes, etcd and kubectl (Apache-2.0), and `make check-image` hadolint (GPL-3.0).",
            "",
            "Back: [trust](trust.md). Next: [documentation](README.md).",
            "",
        ]
    )


def check():
    text = open(TARGET, encoding="utf-8").read()
    have = set(re.findall(r"^\| (\S+) \|", text, re.M))
    pairs = set(re.findall(r"^\| (\S+) \| (\S+) \|", text, re.M))
    missing = [f"{path} {version}" for folder, package in ((".", "./cmd/qdnb"), ("tools", "tool"))
               for path, version, _ in modules(folder, package) if (path, version) not in pairs]
    for line in open(os.path.join(ROOT, "tools", "requirements.txt"), encoding="utf-8"):
        name = re.match(r"[A-Za-z0-9_.-]+", line)
        if name and name[0] not in have:
            missing.append(name[0])
    if missing:
        sys.exit(f"licences: docs/licences.md is missing {', '.join(sorted(set(missing)))}: run tools/licences.py, review the new entries, and commit them")
    print("licences: docs/licences.md lists everything that is linked or installed")


if sys.argv[1:] == ["--check"]:
    check()
elif not sys.argv[1:]:
    with open(TARGET, "w", encoding="utf-8") as f:
        f.write(page())
else:
    sys.exit(__doc__)
