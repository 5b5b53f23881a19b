"""Peer for MOME: learning curves by QDax on rastrigin-multi.

    pip install "jax[cpu]==0.10.2" qdax==0.5.0
    qdnb train --algorithm mome --env rastrigin-multi --seeds 0..9 --generations 200
    python mome.py --seeds 10 --iterations 500 --centroids REPERTOIRE.npz > mome.jsonl
    python compare.py mome.jsonl runs/mome-rastrigin-multi-*/metrics.csv

It prints one JSON line per seed: the task, cells, variation and sizes of `qdnb train --algorithm
mome --env rastrigin-multi`, with the repertoire, selection and metrics of QDax.
"""
import argparse
import functools
import json
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
            rows.append(dict(generation=(block + 1) * args.every, **dict(zip(NAMES, np.asarray(found)[-1].tolist()))))
        wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
        each = dict(seconds=wall / args.iterations, cpu=cpu / args.iterations)
        print(json.dumps(dict(peer="QDax", seed=seed, **each, scores=rows)), flush=True)


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--centroids", required=True, help="a repertoire.npz of qdnb, whose cells are used")
    for name, default in dict(seeds=10, iterations=500, every=50, dim=100, batch=100, front_size=50).items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=default)
    parser.add_argument("--iso-sigma", type=float, default=0.005)
    parser.add_argument("--line-sigma", type=float, default=0.05)
    curves(parser.parse_args())


if __name__ == "__main__":
    main()
