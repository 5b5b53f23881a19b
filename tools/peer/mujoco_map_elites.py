"""Peer for the speed of MAP-Elites in another simulator: pyribs with MuJoCo's walker, stepped by mjbatch, with
other physics.

    pip install -r mujoco.txt
    python mujoco_map_elites.py --hidden 256 --generations 3 [--chunk 16]

A generation draws `batch` policies with two hidden layers by Iso+LineDD, runs each for `steps` control steps
and inserts it into 32 x 32 cells. The descriptor is the share of steps with each foot on the ground. A thread
runs slices of --chunk policies, whose weights stay in its cache. Prints one JSON line: seconds per
generation, minimum and median.
"""

import argparse
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from mujoco_rollout import Slice, count, unflatten, widths

import numpy as np
from ribs.archives import GridArchive
from ribs.emitters import IsoLineEmitter
from ribs.schedulers import Scheduler


class Walkers(Slice):
    """Adds the rewards of Walker2d-v5, until the walker falls, and the contacts of its feet."""

    def __init__(self, size):
        super().__init__("walker-uni", size)
        self.places = self.batch.bind("geom_xpos")
        self.feet = [self.model.geom(name).id for name in ("foot_geom", "foot_left_geom")]
        self.radius = self.model.geom("foot_geom").size[0]
        self.duration = self.skip * self.model.opt.timestep

    def run(self, layers, steps):
        self.reset()
        size = len(self.qpos)
        fitness, contacts, alive, lived = (
            np.zeros(size),
            np.zeros((size, 2)),
            np.ones(size, bool),
            np.zeros(size),
        )
        for _ in range(steps):
            before = self.qpos[:, 0].copy()
            self.step(layers)
            reward = (self.qpos[:, 0] - before) / self.duration - 0.001 * np.square(self.ctrl).sum(1) + 1
            fitness += alive * reward
            contacts += alive[:, None] * (self.places[:, self.feet, 2] < self.radius + 0.01)
            lived += alive
            alive &= (self.qpos[:, 1] > 0.7) & (self.qpos[:, 1] < 2)
        return fitness, contacts / lived[:, None]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--generations", type=int, default=3)
    p.add_argument("--chunk", type=int, default=0, help="policies that a thread runs together; 0: its share")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    a = p.parse_args()
    chunk = a.chunk or -(-a.batch // a.threads)
    workers = [Walkers(min(chunk, a.batch)) for _ in range(a.threads)]
    sizes = widths(workers[0].obs_size, a.hidden, workers[0].ctrl.shape[1])
    archive = GridArchive(solution_dim=count(sizes), dims=[32, 32], ranges=[(0, 1)] * 2, dtype=np.float32)
    first = np.random.default_rng(0).normal(0, 0.05, (a.batch, count(sizes))).astype(np.float32)
    emitter = IsoLineEmitter(
        archive, iso_sigma=0.005, line_sigma=0.05, initial_solutions=first, batch_size=a.batch, seed=0
    )
    scheduler = Scheduler(archive, [emitter])

    def generation(pool):
        genotypes = scheduler.ask()
        # The last slice overlaps the one before if the size does not divide the batch.
        starts = [min(at, a.batch - chunk) for at in range(0, a.batch, chunk)]
        fitness, descriptors = np.empty(a.batch), np.empty((a.batch, 2))

        def work(worker):
            for at in starts[worker :: a.threads]:
                rows = slice(at, at + chunk)
                fitness[rows], descriptors[rows] = workers[worker].run(
                    unflatten(genotypes[rows], sizes), a.steps
                )

        list(pool.map(work, range(a.threads)))
        scheduler.tell(fitness, descriptors)

    seconds = []
    with ThreadPoolExecutor(a.threads) as pool:
        generation(pool)  # the initial population
        for _ in range(a.generations):
            start = time.perf_counter()
            generation(pool)
            seconds.append(time.perf_counter() - start)
    print(
        json.dumps(
            {
                "peer": f"ribs {version('ribs')}, mjbatch {version('mjbatch')}, mujoco {version('mujoco')}",
                "batch": a.batch,
                "steps": a.steps,
                "hidden": a.hidden,
                "chunk": chunk,
                "threads": a.threads,
                "best_s": round(min(seconds), 4),
                "median_s": round(statistics.median(seconds), 4),
                "max_fitness": round(float(archive.stats.obj_max), 2),
                "coverage": round(100 * float(archive.stats.coverage), 2),
            }
        )
    )


if __name__ == "__main__":
    main()
