"""Peer for Dominated Novelty Search: learning curves by QDax on the planar arm.

    pip install "jax[cpu]==0.10.2" chex flax scikit-learn
    pip install --no-deps git+https://github.com/adaptive-intelligent-robotics/QDax@46b8fee
    qdnb train --algorithm dns --env arm --seeds 0..9 --generations 200 --set cvt_samples=10000
    python dns.py --generations 200 --centroids REPERTOIRE.npz > dns.jsonl
    python compare.py dns.jsonl runs/dns-arm-*/metrics.csv

It prints one JSON line per seed, for the settings of `qdnb train --algorithm dns --env arm`. As
there, a passive repertoire with the cells of REPERTOIRE takes the population at every tenth
generation, and metrics are the repertoire's.
"""
import argparse
import functools
import json
import time

import numpy as np


def curve(args):
    """Returns a function of a seed."""
    import jax
    import jax.numpy as jnp
    from qdax.core.containers.mapelites_repertoire import MapElitesRepertoire
    from qdax.core.dns import DominatedNoveltySearch
    from qdax.core.emitters.mutation_operators import isoline_variation
    from qdax.core.emitters.standard_emitters import MixingEmitter
    from qdax.tasks.arm import arm_scoring_function

    variation = functools.partial(isoline_variation, iso_sigma=0.005, line_sigma=0.05)
    emitter = MixingEmitter(None, variation, 1.0, args.batch)
    search = DominatedNoveltySearch(
        arm_scoring_function, emitter, lambda _: {}, population_size=1024, k=3)
    centroids = jnp.asarray(np.load(args.centroids)["centroids"])

    def insert(passive, population):
        return passive.add(population.genotypes, population.descriptors, population.fitnesses)

    @jax.jit
    def begin(key):
        key, initial, start = jax.random.split(key, 3)
        first = jax.random.uniform(initial, (args.batch, args.joints))
        population, state, _ = search.init(first, start)
        passive = MapElitesRepertoire.init_default(population.genotypes[0], centroids)
        return population, state, key, insert(passive, population)

    @jax.jit
    def ten(population, state, key, passive):
        carry = population, state, key
        (population, state, key), _ = jax.lax.scan(search.scan_update, carry, (), length=10)
        passive = insert(passive, population)
        fitness = passive.fitnesses.reshape(-1)
        filled = fitness > -jnp.inf
        score = jnp.where(filled, fitness + 0.5, 0).sum()  # -0.5 is the least fitness
        found = dict(qd_score=score, coverage=100 * filled.mean(), max_fitness=fitness.max())
        return (population, state, key, passive), found

    jax.block_until_ready(ten(*begin(jax.random.key(0))))  # compiles both

    def one(seed):
        carry, scores, began = begin(jax.random.key(seed)), [], time.process_time()
        for generation in range(10, args.generations + 1, 10):
            carry, found = ten(*carry)
            scores.append(dict(generation=generation, **{k: float(x) for k, x in found.items()}))
        cpu = (time.process_time() - began) / args.generations
        return dict(peer="QDax", seed=seed, cpu=cpu, scores=scores)

    return one


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--centroids", required=True, help="a repertoire.npz of qdnb, whose cells are used")
    for name, default in dict(seeds=10, generations=500, batch=1000, joints=100).items():
        parser.add_argument("--" + name, type=int, default=default)
    args = parser.parse_args()
    one = curve(args)
    for seed in range(args.seeds):
        print(json.dumps(one(seed)), flush=True)


if __name__ == "__main__":
    main()
