"""Peer for the speed of learning: JAX and optax, the gradient updates of a learner, in one compiled scan.

    pip install -r jax.txt
    python updates.py td3 --steps 300        # PGA-MAP-Elites' training: the critics every step, the actor every second
    python updates.py sac --steps 300        # DIAYN+REWARD's: discriminator, critics and actor every step

Sizes are ant-uni's: 87 observations, 8 actions, 5 skills, batches of 256 sampled from a buffer of --buffer rows, networks of 2 x 256 units.
Prints one JSON line: the best of the repeats, updates per second.
"""
import argparse
import json
import time

import jax
import jax.numpy as jnp
import optax

OBS, ACT, SKILLS, BATCH = 87, 8, 5, 256


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    lim = [(3.0 / n) ** 0.5 for n in sizes]
    return [
        (jax.random.uniform(keys[i], (a, b), minval=-lim[i], maxval=lim[i]), jnp.zeros(b))
        for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:]))
    ]


def mlp(params, x):
    for i, (w, b) in enumerate(params):
        x = x @ w + b
        x = jax.nn.relu(x) if i < len(params) - 1 else x
    return x


def polyak(target, new, tau=0.005):
    return jax.tree_util.tree_map(lambda t, n: (1 - tau) * t + tau * n, target, new)


def twin(params, obs, act):
    x = jnp.concatenate([obs, act], -1)
    return jnp.concatenate([mlp(p, x) for p in params], -1)


def td3(key, data):
    k = jax.random.split(key, 3)
    critic = [init(k[0], [OBS + ACT, 256, 256, 1]), init(k[1], [OBS + ACT, 256, 256, 1])]
    actor = init(k[2], [OBS, 256, 256, ACT])
    opt = optax.adam(3e-4)
    act = lambda p, o: jnp.tanh(mlp(p, o))

    def step(carry, i):
        critic, target_critic, actor, target_actor, cs, as_, key = carry
        key, k1, k2 = jax.random.split(key, 3)
        b = jax.tree_util.tree_map(lambda x: x[jax.random.randint(k1, (BATCH,), 0, x.shape[0])], data)
        noise = jnp.clip(0.2 * jax.random.normal(k2, b["a"].shape), -0.5, 0.5)
        na = jnp.clip(act(target_actor, b["no"]) + noise, -1, 1)
        y = b["r"] + 0.99 * (1 - b["d"]) * twin(target_critic, b["no"], na).min(-1)
        closs = lambda c: ((twin(c, b["o"], b["a"]) - y[:, None]) ** 2).mean(0).sum()
        grads = jax.grad(closs)(critic)
        up, cs = opt.update(grads, cs)
        new_critic = optax.apply_updates(critic, up)
        target_critic = polyak(target_critic, new_critic)

        def delayed(_):
            g = jax.grad(lambda p: -mlp(critic[0], jnp.concatenate([b["o"], act(p, b["o"])], -1)).mean())(actor)
            up, s = opt.update(g, as_)
            new = optax.apply_updates(actor, up)
            return new, polyak(target_actor, new), s

        actor, target_actor, as_ = jax.lax.cond(i % 2 == 0, delayed, lambda _: (actor, target_actor, as_), None)
        return (new_critic, target_critic, actor, target_actor, cs, as_, key), None

    return (critic, critic, actor, actor, opt.init(critic), opt.init(actor), key), step


def sac(key, data):
    k = jax.random.split(key, 4)
    o = OBS + SKILLS
    critic = [init(k[0], [o + ACT, 256, 256, 1]), init(k[1], [o + ACT, 256, 256, 1])]
    actor = init(k[2], [o, 256, 256, 2 * ACT])
    disc = init(k[3], [OBS, 256, 256, SKILLS])
    opt = optax.adam(3e-4)

    def sample(p, obs, key):
        mean, raw = jnp.split(mlp(p, obs), 2, -1)
        std = jax.nn.softplus(raw) + 1e-3
        u = mean + std * jax.random.normal(key, mean.shape)
        logp = -0.5 * ((u - mean) / std) ** 2 - jnp.log(std) - 0.9189385
        logp = (logp - 2 * (jnp.log(2.0) - u - jax.nn.softplus(-2 * u))).sum(-1)
        return jnp.tanh(u), logp

    def step(carry, _):
        critic, target, actor, disc, cs, as_, ds, key = carry
        key, k1, k2, k3 = jax.random.split(key, 4)
        b = jax.tree_util.tree_map(lambda x: x[jax.random.randint(k1, (BATCH,), 0, x.shape[0])], data)
        z = b["z"]
        lp = jax.nn.log_softmax(mlp(disc, b["no"]))
        r = 10.0 * (b["r"] + 2.0 * ((lp * z).sum(-1) + jnp.log(5.0)))
        ob, nob = jnp.concatenate([b["o"], z], -1), jnp.concatenate([b["no"], z], -1)
        na, nlogp = sample(actor, nob, k2)
        y = r + 0.99 * (1 - b["d"]) * (twin(target, nob, na).min(-1) - 0.1 * nlogp)
        g = jax.grad(lambda c: 0.5 * ((twin(c, ob, b["a"]) - y[:, None]) ** 2).mean())(critic)
        up, cs = opt.update(g, cs)
        new_critic = optax.apply_updates(critic, up)

        def aloss(p):
            a, logp = sample(p, ob, k3)
            return (0.1 * logp - twin(critic, ob, a).min(-1)).mean()

        up, as_ = opt.update(jax.grad(aloss)(actor), as_)
        actor = optax.apply_updates(actor, up)
        dloss = lambda d: -(jax.nn.log_softmax(mlp(d, b["o"])) * z).sum(-1).mean()
        up, ds = opt.update(jax.grad(dloss)(disc), ds)
        disc = optax.apply_updates(disc, up)
        return (new_critic, polyak(target, new_critic), actor, disc, cs, as_, ds, key), None

    return (critic, critic, actor, disc, opt.init(critic), opt.init(actor), opt.init(disc), key), step


def main():
    p = argparse.ArgumentParser()
    p.add_argument("learner", choices=["td3", "sac"])
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--buffer", type=int, default=100_000)
    p.add_argument("--repeats", type=int, default=3)
    a = p.parse_args()
    key = jax.random.PRNGKey(0)
    n = a.buffer
    data = {
        "o": jax.random.normal(key, (n, OBS)), "no": jax.random.normal(key, (n, OBS)),
        "a": jax.random.uniform(key, (n, ACT), minval=-1, maxval=1), "r": jax.random.normal(key, (n,)),
        "d": jnp.zeros((n,)), "z": jax.nn.one_hot(jax.random.randint(key, (n,), 0, SKILLS), SKILLS),
    }
    carry, step = {"td3": td3, "sac": sac}[a.learner](key, data)
    run = jax.jit(lambda c: jax.lax.scan(step, c, jnp.arange(a.steps))[0])
    start = time.perf_counter()
    jax.block_until_ready(run(carry))
    first, best = time.perf_counter() - start, 1e9
    for _ in range(a.repeats):
        start = time.perf_counter()
        jax.block_until_ready(run(carry))
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"peer": "jax " + jax.__version__, "device": str(jax.devices()[0]), "learner": a.learner, "steps": a.steps,
                      "first_s": round(first, 3), "best_s": round(best, 4), "updates_per_s": round(a.steps / best, 1)}))


if __name__ == "__main__":
    main()
