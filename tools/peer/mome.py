"""Peer for MOME: learning curves by QDax on rastrigin-multi.

    pip install "jax[cpu]==0.10.2" qdax==0.5.0
    python mome.py curves --seeds 10 --iterations 500 --centroids REPERTOIRE.npz > mome.jsonl
    python mome.py compare mome.jsonl runs/mome-rastrigin-multi-*/metrics.csv

curves prints one JSON line per seed: the task, cells, variation and sizes of `qdnb train --algorithm mome --env rastrigin-multi`, with the repertoire,
selection and metrics of QDax. compare prints medians and ranges of both, and the time of a generation.
"""
import argparse
import csv
import functools
import json
import statistics
import time
import warnings

import numpy as np

NAMES = ("moqd_score", "global_hypervolume", "coverage", "archive_size")
LAGS, LOWER, UPPER, LOWEST = (0.0, 2.2), -2.0, 4.0, -32.4


def curves(args):
    import jax
    import jax.numpy as jnp
    from qdax.core.emitters.mutation_operators import isoline_variation
    from qdax.core.emitters.standard_emitters import MixingEmitter
    from qdax.core.mome import MOME
    from qdax.utils.metrics import default_moqd_metrics

    def scores(x, key):
        x = jnp.clip(x, LOWER, UPPER)
        minus = lambda d: -jnp.sum(jnp.square(d) - 10 * jnp.cos(2 * jnp.pi * d) + 10, axis=1)
        return jnp.stack([minus(x - lag) for lag in LAGS], axis=1), x[:, :2], {}

    def metrics(repertoire):
        all = default_moqd_metrics(repertoire, reference_point=jnp.full(2, LOWEST * args.dim))
        filled = all["moqd_score"] > -jnp.inf
        return jnp.stack([jnp.sum(all["moqd_score"], where=filled), all["global_hypervolume"], all["coverage"],
                          all["number_solutions"].astype(jnp.float32)])

    variation = functools.partial(isoline_variation, iso_sigma=args.iso_sigma, line_sigma=args.line_sigma)
    mome = MOME(scores, MixingEmitter(None, variation, 1.0, args.batch), metrics, args.front_size)
    centroids = jnp.asarray(np.load(args.centroids)["centroids"])

    @jax.jit
    def begin(key):
        key, initial, start = jax.random.split(key, 3)
        first = jax.random.uniform(initial, (args.batch, args.dim), minval=LOWER, maxval=UPPER)
        return (*mome.init(first, centroids, start)[:2], key)

    run = jax.jit(lambda carry: jax.lax.scan(mome.scan_update, carry, (), length=args.every))
    jax.block_until_ready(run(begin(jax.random.key(0))))  # compiles both
    for seed in range(args.seeds):
        carry, rows, began = begin(jax.random.key(seed)), [], (time.perf_counter(), time.process_time())
        for block in range(args.iterations // args.every):
            carry, found = run(carry)
            rows.append([(block + 1) * args.every, *np.asarray(found)[-1].tolist()])
        wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
        print(json.dumps(dict(seed=seed, seconds=wall / args.iterations, cpu=cpu / args.iterations, scores=rows)), flush=True)


def compare(args):
    with open(args.peer) as f:
        peer = [json.loads(line) for line in f]
    runs = []
    for path in args.metrics:
        with open(path) as f:
            runs.append({int(row["generation"]): row for row in csv.DictReader(f)})
    spread = lambda x: f"{statistics.median(x):.6g} ({min(x):.6g} to {max(x):.6g})"
    for k, (generation, *_) in enumerate(peer[0]["scores"]):
        for column, name in enumerate(NAMES, 1):
            ours = spread([float(run[generation][name]) for run in runs])
            theirs = spread([p["scores"][k][column] for p in peer])
            print(f"generation {generation:4} {name:18} qdnb {ours:42} QDax {theirs}")
    last = max(runs[0])
    seconds = [(float(run[last]["seconds"]) - float(run[1]["seconds"])) / (last - 1) for run in runs]
    print("seconds per generation: qdnb", spread(seconds), "QDax", spread([p["seconds"] for p in peer]), "of processor time",
          spread([p["cpu"] for p in peer]))


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("curves")
    new.add_argument("--centroids", required=True, help="a repertoire.npz of qdnb, whose cells are used")
    for name, default in dict(seeds=10, iterations=500, every=50, dim=100, batch=100, front_size=50).items():
        new.add_argument("--" + name.replace("_", "-"), type=int, default=default)
    new.add_argument("--iso-sigma", type=float, default=0.005)
    new.add_argument("--line-sigma", type=float, default=0.05)
    both = commands.add_parser("compare")
    both.add_argument("peer", help="the output of curves")
    both.add_argument("metrics", nargs="+", help="metrics.csv of the runs of qdnb")
    args = parser.parse_args()
    if args.command == "compare":
        compare(args)
        return
    curves(args)


if __name__ == "__main__":
    main()
