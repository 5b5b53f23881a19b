#!/usr/bin/env python3
"""tools/coverage.py PROFILE [LEAST]: per package, how much of the code that does not build graphs the tests ran.

PROFILE is what `go test -coverpkg=./... -coverprofile=PROFILE ./...` writes. Code that builds graphs, in files *_graph.go, is left out. The
exit status is 1 if the total is less than LEAST per cent.
"""

import collections
import os
import re
import sys

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
blocks = collections.defaultdict(bool)  # a block is in the profile once for each package whose tests were linked with it
statements = {}
with open(sys.argv[1], encoding="utf-8") as profile:
    next(profile)
    for line in profile:
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
if len(sys.argv) == 3 and 100 * ran["total"] < float(sys.argv[2]) * total["total"]:
    sys.exit(f"coverage: less than {sys.argv[2]} %")
