"""Peer for the speed of insertion: JAX, scatters the genotypes of candidates that win their cell into the repertoire, in place.

    pip install -r jax.txt
    python insertion.py 50 --batch 1000      # 50 of the candidates are fitter than all occupants, the others fitter than none

A full repertoire of 1024 cells, policies of 2 x 256 units for 87 observations and 8 actions; each insertion continues from
the previous one. Prints one JSON line: the best of the repeats.
"""
import argparse
import json
import time

import jax
import jax.numpy as jnp

SIZES = [87, 256, 256, 8]
CELLS = 1024


def insert(repertoire, centroids, params, fitness, descriptors):
    genotypes, best, kept = repertoire
    cell = jnp.argmin(((descriptors[:, None] - centroids[None]) ** 2).sum(-1), 1)
    top = jax.ops.segment_max(fitness, cell, num_segments=CELLS)[cell]
    enters = (fitness == top) & (fitness > best[cell])
    target = jnp.where(enters, cell, CELLS)  # out of bounds: dropped
    genotypes = jax.tree_util.tree_map(lambda g, q: g.at[target].set(q, mode="drop"), genotypes, params)
    return (genotypes, best.at[target].set(fitness, mode="drop"), kept.at[target].set(descriptors, mode="drop")), enters.sum()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("better", type=int, help="candidates that are fitter than any occupant")
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--repeats", type=int, default=20)
    a = p.parse_args()
    if not 0 <= a.better <= a.batch:
        p.error(f"of {a.batch} candidates {a.better} cannot be better")
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    weights = lambda n, key: [
        (jax.random.uniform(key, (n, i, o), minval=-1), jnp.zeros((n, o))) for i, o in zip(SIZES[:-1], SIZES[1:])
    ]
    centroids = jax.random.uniform(keys[0], (CELLS, 2), minval=-1)
    repertoire = jax.tree_util.tree_map(jnp.zeros_like, weights(CELLS, keys[1])), jnp.zeros(CELLS), jnp.zeros((CELLS, 2))
    candidates = weights(a.batch, keys[1])
    descriptors = jax.random.uniform(keys[2], (a.batch, 2), minval=-1)
    order = jax.random.uniform(keys[3], (a.batch,))
    better = jnp.arange(a.batch) * 7919 % a.batch < a.better  # spread over the batch, as in a search
    run = jax.jit(
        lambda repertoire, number, candidates: insert(repertoire, centroids, candidates, jnp.where(better, order + number, -1), descriptors),
        donate_argnums=0,
    )
    best = float("inf")
    for i in range(a.repeats + 1):
        start = time.perf_counter()
        repertoire, entered = jax.block_until_ready(run(repertoire, float(i + 1), candidates))
        if i == 0:
            first = time.perf_counter() - start
        else:
            best = min(best, time.perf_counter() - start)
    print(json.dumps({
        "peer": "jax " + jax.__version__, "batch": a.batch, "cells": CELLS, "better": a.better, "entered": int(entered),
        "first_s": round(first, 3), "best_s": round(best, 6),
    }))


if __name__ == "__main__":
    main()
