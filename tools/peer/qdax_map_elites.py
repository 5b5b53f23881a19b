"""Peer for the speed of MAP-Elites: QDax itself, on the same tasks, which QDax has in Brax 1.

    pip install -r qdax.txt
    python qdax_map_elites.py walker-uni --generations 5 [--chunk 16]

A generation is one call of QDax's MAPElites.update under jit, which gets the repertoire's memory: `batch` policies
(2 x 256 units) by Iso+LineDD, QDax's scoring function for `steps` control steps from a random reset each, and insertion
into 1024 cells. --chunk scores the policies in slices of that size, as a JAX user would tune for the cache. The first
population is not evaluated: it is in random cells, and worse than all others. Prints one JSON line: seconds per
generation, minimum and median.
"""
import argparse
import json
import statistics
import time
import warnings
from functools import partial
from importlib.metadata import version

warnings.filterwarnings("ignore")

import jax
import jax.numpy as jnp
from qdax.core.emitters.mutation_operators import isoline_variation
from qdax.core.emitters.standard_emitters import MixingEmitter
from qdax.core.map_elites import MAPElites
from qdax.core.neuroevolution.mdp_utils import init_population_controllers
from qdax.tasks.brax.v1.env_creators import create_default_brax_task_components
from qdax.utils.metrics import default_qd_metrics

# The names of QDax's tasks, and the limits of their descriptors.
TASKS = {"pointmaze": ("pointmaze", -1, 1), "walker-uni": ("walker2d_uni", 0, 1), "ant-uni": ("ant_uni", 0, 1)}
CELLS = 1024


def main():
    p = argparse.ArgumentParser()
    p.add_argument("env", choices=TASKS)
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--generations", type=int, default=5)
    p.add_argument("--chunk", type=int, default=0, help="0: the whole population at once")
    a = p.parse_args()
    chunk = a.chunk or a.batch
    if a.batch % chunk:
        p.error(f"--chunk {chunk} does not divide --batch {a.batch}")
    name, low, high = TASKS[a.env]
    keys = jax.random.split(jax.random.PRNGKey(0), 4 + a.generations)
    env, network, score = create_default_brax_task_components(name, keys[0], a.steps, (256, 256), deterministic=False)

    def scored(genotypes, key):
        slices = jax.tree.map(lambda x: x.reshape(-1, chunk, *x.shape[1:]), genotypes)
        outcomes = jax.lax.map(lambda s: score(*s)[:2], (slices, jax.random.split(key, a.batch // chunk)))
        return *(x.reshape(a.batch, *x.shape[2:]) for x in outcomes), {}

    search = MAPElites(
        scored,
        MixingEmitter(
            mutation_fn=lambda *_: None,  # the share of variation is 1
            variation_fn=partial(isoline_variation, iso_sigma=0.005, line_sigma=0.05),
            variation_percentage=1.0,
            batch_size=a.batch,
        ),
        partial(default_qd_metrics, qd_offset=0.0),
    )
    population = init_population_controllers(network, env, a.batch, keys[1])
    places = jax.random.uniform(keys[2], (a.batch + CELLS, env.state_descriptor_length), minval=low, maxval=high)
    fitnesses = jnp.full(a.batch, -1e9)
    repertoire, state, _ = search.init_ask_tell(population, fitnesses, places[:a.batch], places[a.batch:], keys[3])
    update, seconds = jax.jit(search.update, donate_argnums=0), []
    for key in keys[3:]:
        start = time.perf_counter()
        repertoire, state, metrics = jax.block_until_ready(update(repertoire, state, key))
        seconds.append(time.perf_counter() - start)
    first, *seconds = seconds  # the first compiles
    print(json.dumps({
        "peer": f"qdax {version('qdax')}, brax {version('brax')}, jax {jax.__version__}",
        "env": a.env, "batch": a.batch, "steps": a.steps, "chunk": a.chunk,
        "first_s": round(first, 3), "best_s": round(min(seconds), 4), "median_s": round(statistics.median(seconds), 4),
        "max_fitness": round(float(metrics["max_fitness"]), 2), "coverage": round(float(metrics["coverage"]), 2),
    }))


if __name__ == "__main__":
    main()
