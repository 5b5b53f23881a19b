"""Peer for the speed of few-shot adaptation: Brax 0.0.12 under JAX 0.4.20, policies evaluated under multiples of gravity.

    pip install -r brax.txt
    python brax_adaptation.py ant-uni --policies 64 --episodes 4 --values 5 [--chunk 16] [--rebuild]

Each of `policies` different policies (2 x 256 units) plays `episodes` episodes of `steps` control steps under each of the first
`values` of the paper's multiples of gravity, from the same initial states. Gravity is traced, so that one compilation serves all values,
which Brax itself does not support; --rebuild creates an environment and compiles for each value, as the paper's scripts do. Prints one
JSON line: the best of the repeats, and the first time with all compilations.
"""
import argparse
import json
import time

import jax
import jax.numpy as jnp
from brax_rollout import ENVS, init, policy

MULTIPLES = [k / 4 for k in range(1, 21)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("env", choices=ENVS)
    p.add_argument("--policies", type=int, default=64)
    p.add_argument("--episodes", type=int, default=4)
    p.add_argument("--values", type=int, default=5)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--chunk", type=int, default=0, help="episodes at once; 0: all episodes of a value")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--rebuild", action="store_true")
    a = p.parse_args()
    batch = a.policies * a.episodes
    chunk = a.chunk or batch
    if batch % chunk:
        p.error(f"--chunk {chunk} does not divide {batch} episodes")
    e = ENVS[a.env]()
    sizes = [e.observation_size, 256, 256, e.action_size]
    params = jax.jit(jax.vmap(lambda k: init(k, sizes)))(jax.random.split(jax.random.PRNGKey(0), a.policies))
    params = jax.tree_util.tree_map(lambda x: jnp.repeat(x, a.episodes, axis=0), params)
    keys = jnp.tile(jax.random.split(jax.random.PRNGKey(1), a.episodes), (a.policies, 1))
    slices = [jax.tree_util.tree_map(lambda x: x[i : i + chunk], (params, keys)) for i in range(0, batch, chunk)]

    def program():
        env = ENVS[a.env]()
        nominal = env.sys.integrator.gravity

        def rollout(params, key, multiple):
            def step(state, _):
                state = env.step(state, policy(params, state.obs))
                return state, state.reward

            env.sys.integrator.gravity = nominal * multiple
            return jax.lax.scan(step, env.reset(key), None, length=a.steps)[1].sum()

        return jax.jit(jax.vmap(rollout, in_axes=(0, 0, None)))

    begin = time.perf_counter()
    programs = [program() for _ in range(a.values)] if a.rebuild else [program()] * a.values

    def seconds():
        start = time.perf_counter()
        jax.block_until_ready([run(*s, k) for run, k in zip(programs, MULTIPLES) for s in slices])
        return time.perf_counter() - start

    seconds()
    whole = time.perf_counter() - begin
    best = min(seconds() for _ in range(a.repeats))
    print(json.dumps({
        "peer": f"brax 0.0.12, jax {jax.__version__}", "env": a.env, "policies": a.policies, "episodes": a.episodes,
        "values": a.values, "steps": a.steps, "chunk": chunk, "rebuild": a.rebuild, "whole_s": round(whole, 3), "best_s": round(best, 4),
        "env_steps_per_s": round(batch * a.values * a.steps / best),
    }))


if __name__ == "__main__":
    main()
