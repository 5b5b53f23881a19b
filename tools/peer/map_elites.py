"""Peer for the speed of MAP-Elites on pointmaze: the same work in JAX, a whole generation in one jitted function.

    pip install "jax[cpu]"
    python map_elites.py --generations 20 [--chunk 4]

A generation draws 2 x `batch` parents, varies them by Iso+LineDD, runs each policy (2 x 256 units) for `steps` control steps and
inserts improvements into 1024 cells. --chunk evaluates the policies in slices of that size, as a JAX user would tune for the cache.
Prints one JSON line: seconds per generation, minimum and median.
"""
import argparse
import json
import statistics
import time

import jax
import jax.numpy as jnp
from insertion import CELLS, insert

SIZES = [2, 256, 256, 2]


def init(key):
    keys = jax.random.split(key, 3)
    limits = [(3.0 / n) ** 0.5 for n in SIZES]
    return [
        (jax.random.uniform(keys[i], (SIZES[i], SIZES[i + 1]), minval=-limits[i], maxval=limits[i]), jnp.zeros(SIZES[i + 1]))
        for i in range(3)
    ]


def policy(params, x):
    for i, (w, b) in enumerate(params):
        x = x @ w + b
        x = jax.nn.relu(x) if i < 2 else jnp.tanh(x)
    return x


def step(xy, action):
    old_x, old_y = xy
    move = jnp.clip(action, -1, 1) / 10
    x, y = old_x + move[0], old_y + move[1]
    hit = lambda height, y: (height - old_y) / (y - old_y) * (x - old_x) + old_x
    at = hit(-0.5, y) >= -0.5
    y1 = jnp.where((old_y <= -0.5) & (y > -0.5) & at, -0.5, y)
    y1 = jnp.where((y < -0.49) & (old_y >= -0.49) & (old_y < 0.2) & at, -0.49, y1)
    at = hit(0.2, y1) <= 0.5
    y2 = jnp.where((old_y >= 0.21) & (y1 < 0.21) & at, 0.21, y1)
    y2 = jnp.where((y1 > 0.2) & (old_y <= 0.2) & (old_y > -0.5) & at, 0.2, y2)
    x, y = jnp.clip(x, -1, 1), jnp.clip(y2, -1, 1)
    reward = -jnp.hypot(x + 0.5, y - 0.8)
    done = (jnp.abs(x + 0.5) <= 0.05) & (jnp.abs(y - 0.8) <= 0.05)
    return jnp.array([x, y]), reward, done


def rollout(params, key, steps):
    kx, ky = jax.random.split(key)
    start = jnp.array([jax.random.uniform(kx, minval=-0.1, maxval=0.1), jax.random.uniform(ky, minval=-1.0, maxval=-0.7)])

    def body(carry, _):
        xy, alive, fitness, descriptor = carry
        new, reward, done = step(xy, policy(params, xy))
        fitness = fitness + alive * reward
        descriptor = jnp.where(alive > 0, xy, descriptor)
        return (new, alive * (1 - done), fitness, descriptor), None

    (_, _, fitness, descriptor), _ = jax.lax.scan(body, (start, 1.0, 0.0, start), None, length=steps)
    return fitness, descriptor


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--generations", type=int, default=20)
    p.add_argument("--chunk", type=int, default=0, help="0: the whole population at once")
    a = p.parse_args()
    tree = jax.tree_util.tree_map
    centroids = jax.random.uniform(jax.random.PRNGKey(7), (CELLS, 2), minval=-1, maxval=1)

    def evaluate(params, key):
        run = jax.vmap(lambda q, k: rollout(q, k, a.steps))
        keys = jax.random.split(key, a.batch)
        if not a.chunk:
            return run(params, keys)
        cut = lambda x: x.reshape(a.batch // a.chunk, a.chunk, *x.shape[1:])
        fitness, descriptors = jax.lax.map(lambda s: run(*s), (tree(cut, params), cut(keys)))
        return fitness.reshape(-1), descriptors.reshape(-1, 2)

    def vary(repertoire, key):
        k1, k2, k3, k4 = jax.random.split(key, 4)
        filled = repertoire[1] > -jnp.inf
        weights = filled / filled.sum()
        parents = [tree(lambda g: g[i], repertoire[0]) for i in (jax.random.choice(k, CELLS, (a.batch,), p=weights) for k in (k1, k2))]
        line = 0.05 * jax.random.normal(k3, (a.batch,))
        leaves, form = jax.tree_util.tree_flatten(parents[0])
        keys = jax.tree_util.tree_unflatten(form, list(jax.random.split(k4, len(leaves))))
        return tree(
            lambda x, y, k: x + 0.005 * jax.random.normal(k, x.shape) + line.reshape(-1, *[1] * (x.ndim - 1)) * (y - x),
            parents[0], parents[1], keys,
        )

    def generation(repertoire, key):
        k1, k2 = jax.random.split(key)
        params = vary(repertoire, k1)
        return insert(repertoire, centroids, params, *evaluate(params, k2))[0]

    def initial(key):
        k1, k2 = jax.random.split(key)
        params = jax.vmap(init)(jax.random.split(k1, a.batch))
        empty = (tree(lambda x: jnp.zeros((CELLS, *x.shape[1:])), params), jnp.full(CELLS, -jnp.inf), jnp.zeros((CELLS, 2)))
        return insert(empty, centroids, params, *evaluate(params, k2))[0]

    generation = jax.jit(generation, donate_argnums=0)
    repertoire = jax.block_until_ready(jax.jit(initial)(jax.random.PRNGKey(0)))
    start = time.perf_counter()
    repertoire = jax.block_until_ready(generation(repertoire, jax.random.PRNGKey(1)))
    first = time.perf_counter() - start
    seconds = []
    for g in range(a.generations):
        start = time.perf_counter()
        repertoire = jax.block_until_ready(generation(repertoire, jax.random.PRNGKey(2 + g)))
        seconds.append(time.perf_counter() - start)
    filled = repertoire[1] > -jnp.inf
    print(json.dumps({
        "peer": "jax " + jax.__version__, "batch": a.batch, "steps": a.steps, "chunk": a.chunk, "first_s": round(first, 3),
        "best_s": round(min(seconds), 4), "median_s": round(statistics.median(seconds), 4),
        "max_fitness": round(float(repertoire[1].max()), 2), "coverage": round(100 * float(filled.mean()), 2),
    }))


if __name__ == "__main__":
    main()
