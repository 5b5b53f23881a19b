#!/usr/bin/env python3
"""tools/coverage.py PROFILE [FOLDER] [LEAST]: prints the test coverage outside graph code, per package.

Create PROFILE, and FOLDER for the processes that tests start, with:

    mkdir FOLDER; QDNB_COVERAGE=$PWD/FOLDER go test -coverpkg=./... -coverprofile=PROFILE ./...

Graph code, in files *_graph.go, is excluded. The exit status is 1 if the total is below LEAST per cent.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

folders = [arg for arg in sys.argv[1:] if os.path.isdir(arg)]
profiles = [arg for arg in sys.argv[1:] if arg not in folders]
if not 1 <= len(profiles) <= 2 or len(folders) > 1:
    sys.exit(__doc__)
least = float(profiles[1]) if len(profiles) == 2 else 0
lines = open(profiles[0], encoding="utf-8").readlines()[1:]
for folder in folders:
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as text:
        subprocess.run(["go", "tool", "covdata", "textfmt", "-i", folder, "-o", text.name], check=True)
        lines += text.readlines()[1:]
blocks = collections.defaultdict(bool)  # the profile has a block once for each package whose tests link it
statements = {}
for line in lines:
    place, count, times = line.rsplit(" ", 2)
    file = place.split(":")[0]
    if not file.endswith("_graph.go"):
        blocks[place] |= times.strip() != "0"
        statements[place] = int(count)
total, ran = collections.Counter(), collections.Counter()
for place, covered in blocks.items():
    for package in (os.path.dirname(place.split(":")[0]), "total"):
        total[package] += statements[place]
        ran[package] += statements[place] * covered
for package in sorted(total, key=lambda p: (p == "total", p)):
    print(f"{100 * ran[package] / total[package]:5.1f} %  {ran[package]:5} of {total[package]:5}  {re.sub(r'^example.com/', '', package)}")
if 100 * ran["total"] < least * total["total"]:
    sys.exit(f"coverage: less than {least:g} %")
