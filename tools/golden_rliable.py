"""golden_rliable.py OUT: writes qdnb/stats/testdata/rliable.json with the numbers of rliable's functions.

Needs the PyPI packages rliable 1.2.0 and pandas below 3, which arch 5 needs. Scores are of two methods, four seeds and three tasks.
Intervals are of so many resamples that their own error is below 0.002.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from rliable import library, metrics

SEEDS, TASKS, RESAMPLES = 4, 3, 50000


def main() -> None:
    random = np.random.RandomState(7)
    # Two digits, so that there are ties.
    x = np.round(random.uniform(0.1, 1.2, (SEEDS, TASKS)), 2)
    y = np.round(np.concatenate([x[:1], random.uniform(0.0, 1.0, (SEEDS - 1, TASKS))]), 2)
    taus = [0.0, 0.1, 0.25, 0.4, 0.5, 0.61, 0.75, 0.9, 1.0, 1.3]
    profiles, bands = library.create_performance_profile({"x": x, "y": y}, np.array(taus), reps=RESAMPLES)
    gap, gaps = library.get_interval_estimates({"x": x}, lambda s: np.array([metrics.aggregate_optimality_gap(s, gamma=0.9)]),
                                               reps=RESAMPLES)
    better, betters = library.get_interval_estimates({"x,y": (x, y)}, metrics.probability_of_improvement, reps=RESAMPLES)

    def numbers(array: np.ndarray) -> list[float]:
        return [float(v) for v in np.ravel(array)]

    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({
            "x": x.T.tolist(), "y": y.T.tolist(), "taus": taus,  # by task
            "profile": numbers(profiles["x"]), "profile_low": numbers(bands["x"][0]), "profile_high": numbers(bands["x"][1]),
            "gap": numbers(gap["x"])[0], "gap_interval": numbers(gaps["x"]),
            "improvement": numbers(better["x,y"])[0], "improvement_interval": numbers(betters["x,y"]),
        }, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
