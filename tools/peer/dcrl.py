"""Peer for DCRL-MAP-Elites: learning curves of QDax 0.5.0 on pointmaze, with small networks.

    pip install "jax[cpu]==0.10.2" chex flax && pip install --no-deps qdax==0.5.0
    qdnb train --algorithm dcrl-map-elites --env pointmaze --seeds 0..9 --generations 50 --set hidden=32,32 --set episode_length=50 \\
        --set cells=128 --set cvt_samples=5000 --set batch=32 --set critic_hidden=64,64 --set transitions_batch_size=64 \\
        --set replay_buffer_size=100000 --set num_critic_training_steps=100 --set num_pg_training_steps=30
    python dcrl.py --centroids REPERTOIRE.npz > dcrl.jsonl
    python compare.py dcrl.jsonl runs/dcrl-map-elites-pointmaze-*/metrics.csv

It prints one JSON line per seed, for the settings of the command. Dynamics, rewards, descriptors and
automatic resets are those of pointmaze in qdnb.
"""
import argparse
import functools
import json
import sys
import time
import types

T, B, H, OFFSET = 50, 32, (32, 32), 2.3431
WALLS, TARGET, GOAL = ((-0.5, -0.49, -0.5), (0.2, 0.21, 0.5)), (-0.5, 0.8), (-0.55, -0.45, 0.75, 0.85)


def curves(args):
    for name in ("qdax.tasks.brax", "qdax.tasks.brax.v1", "qdax.tasks.brax.v1.envs", "qdax.tasks.brax.v1.envs.base_env",
                 "qdax.tasks.brax.envs", "qdax.tasks.brax.envs.base_env"):
        sys.modules.setdefault(name, types.ModuleType(name))
        sys.modules[name].QDEnv = object  # the type only; brax is not needed
    import jax
    import jax.numpy as jnp
    import numpy as np
    from qdax.core.emitters.dcrl_me_emitter import DCRLMEConfig, DCRLMEEmitter
    from qdax.core.emitters.mutation_operators import isoline_variation
    from qdax.core.map_elites import MAPElites
    from qdax.core.neuroevolution.buffers.buffer import DCRLTransition
    from qdax.core.neuroevolution.networks.networks import MLP, MLPDC

    centroids = jnp.asarray(np.load(args.centroids)["centroids"])

    class Env:
        observation_size, action_size, descriptor_length = 2, 2, 2
        descriptor_limits = (-jnp.ones(2), jnp.ones(2))

    def step(old, action):
        move = jnp.clip(action, -1, 1) / 10
        (ox, oy), x, y = old, old[0] + move[0], old[1] + move[1]
        (L0, L1, LX), (U0, U1, UX) = WALLS
        hit = lambda h, y: (h - oy) / (y - oy) * (x - ox) + ox
        blocked = hit(L0, y) >= LX
        below = (oy <= L0) & (y > L0) & blocked
        above = (y < L1) & (oy >= L1) & (oy < U0) & blocked
        y = jnp.where(above, L1, jnp.where(below, L0, y))
        blocked = hit(U0, y) <= UX
        above = (y < U1) & (oy >= U1) & blocked
        below = (y > U0) & (oy <= U0) & (oy > L0) & blocked
        y = jnp.where(below, U0, jnp.where(above, U1, y))
        x, y = jnp.clip(x, -1, 1), jnp.clip(y, -1, 1)
        reward = -jnp.hypot(x - TARGET[0], y - TARGET[1])
        goal = (x >= GOAL[0]) & (x <= GOAL[1]) & (y >= GOAL[2]) & (y <= GOAL[3])
        return jnp.stack([x, y]), reward, goal

    policy = MLP(layer_sizes=H + (2,), kernel_init=jax.nn.initializers.lecun_uniform(), final_activation=jnp.tanh)
    actor = MLPDC(layer_sizes=H + (2,), kernel_init=jax.nn.initializers.lecun_uniform(), final_activation=jnp.tanh)

    def episode(params, key):
        kx, ky = jax.random.split(key)
        first = jnp.stack([jax.random.uniform(kx, minval=-0.1, maxval=0.1), jax.random.uniform(ky, minval=-1, maxval=-0.7)])

        def play(carry, t):
            obs, alive, final = carry
            action = policy.apply(params, obs)
            after, reward, goal = step(obs, action)
            last = t == T - 1
            done = (goal | last).astype(jnp.float32)
            nan = jnp.full(2, jnp.nan)
            transition = DCRLTransition(
                obs=obs, next_obs=after, rewards=jnp.maximum(reward + OFFSET, 0), dones=done,
                truncations=(last & ~goal).astype(jnp.float32), actions=action, state_desc=obs, next_state_desc=after,
                desc=nan, desc_prime=nan)
            final = jnp.where(alive, obs, final)  # before the last valid step
            return (jnp.where(goal, first, after), alive & ~goal, final), (transition, jnp.where(alive, reward, 0))

        (_, _, final), (transitions, rewards) = jax.lax.scan(play, (first, jnp.array(True), first), jnp.arange(T))
        return rewards.sum(), final, transitions

    def scoring(genotypes, key):
        n = jax.tree.leaves(genotypes)[0].shape[0]
        fitness, descriptors, transitions = jax.vmap(episode)(genotypes, jax.random.split(key, n))
        return fitness, descriptors, {"transitions": transitions}

    def metrics(repertoire):
        f = repertoire.fitnesses.reshape(-1)
        filled = f > -jnp.inf
        return dict(qd_score=jnp.where(filled, f + OFFSET * T, 0).sum(), coverage=100 * filled.mean(), max_fitness=f.max())

    config = DCRLMEConfig(ga_batch_size=16, dcrl_batch_size=8, ai_batch_size=8, lengthscale=0.1,
                          critic_hidden_layer_size=(64, 64), num_critic_training_steps=100, num_pg_training_steps=30,
                          batch_size=64, replay_buffer_size=100000, policy_learning_rate=5e-3)
    emitter = DCRLMEEmitter(config, policy, actor, Env(), functools.partial(isoline_variation, iso_sigma=0.005, line_sigma=0.05))
    search = MAPElites(scoring_function=scoring, emitter=emitter, metrics_function=metrics)
    update = jax.jit(search.update)
    start = jax.jit(lambda p, k: search.init(p, centroids, k))
    for seed in range(args.seeds):
        key, init, k = jax.random.split(jax.random.key(seed), 3)
        params = jax.vmap(policy.init)(jax.random.split(init, B), jnp.zeros((B, 2)))
        repertoire, state, first = start(params, k)
        scores = [dict(generation=0, **{k: float(v) for k, v in first.items()})]
        for generation in range(1, args.generations + 1):
            key, k = jax.random.split(key)
            repertoire, state, m = update(repertoire, state, k)[:3]
            if generation == 1:
                jax.block_until_ready(repertoire)  # compiled
                wall, cpu = time.perf_counter(), time.process_time()
            if generation % 10 == 0:
                scores.append(dict(generation=generation, **{k: float(v) for k, v in m.items()}))
        jax.block_until_ready(repertoire)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        n = max(1, args.generations - 1)
        found = dict(peer="QDax", seed=seed, scores=scores, seconds=wall / n, cpu=cpu / n)
        print(json.dumps(found), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--centroids", required=True, help="a repertoire.npz of qdnb, whose cells are used")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--generations", type=int, default=50)
    curves(parser.parse_args())


if __name__ == "__main__":
    main()
