"""check_dataframe.py RUN: runs the snippet of docs/reference/command-line.md that turns a run into data frames, and checks them.

Runs in .tools/peer-mujoco, which has pandas and pyribs: `make test-dataframe`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "command-line.md"


def main() -> None:
    import numpy
    from ribs.archives import ArchiveDataFrame

    snippet, = (code for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if "ArchiveDataFrame" in code)
    names: dict[str, Any] = {"run": sys.argv[1]}
    exec(snippet, names)  # noqa: S102 - it is the page's own code

    curves, r, elites = names["curves"], names["r"], names["elites"]
    filled = (r["fitnesses"] > -numpy.inf).sum()
    assert curves["max_fitness"].iloc[-1] == numpy.float32(r["fitnesses"].max()) or numpy.isclose(
        curves["max_fitness"].iloc[-1], r["fitnesses"].max()), "the last row of the curves lacks the best fitness"
    assert type(elites) is ArchiveDataFrame and len(elites) == filled > 10, f"{type(elites)} of {len(elites)} elites, not {filled}"
    assert elites.get_field("solution").shape == r["genotypes"].shape
    assert elites.get_field("measures").shape == (filled, r["descriptors"].shape[1])
    elite = next(iter(elites.iterelites()))
    assert elite["index"] == names["cells"][0] and elite["objective"] == r["fitnesses"][names["cells"][0]]
    row = list(r["genotype_cells"]).index(r["fitnesses"].argmax())
    assert (names["best"] == r["genotypes"][row]).all(), "the best solution is another one"
    print(f"make test-dataframe: {filled} elites of {Path(sys.argv[1]).name} are an ArchiveDataFrame")


if __name__ == "__main__":
    main()
