"""golden_metra.py OUT [continuous]: 13_metra.npz and 16_metra_continuous.npz: rewards, losses and four updates of METRA (Park, Rybkin
and Levine 2024), transcribed from its equations and published constants."""
import sys

import numpy as np, jax, jax.numpy as jnp
CONTINUOUS = sys.argv[2:] == ["continuous"]
rng = np.random.default_rng(20240116)
S, D, H, B, LR, SLACK, LAM = 4, 3, 6, 16, 1e-2, 1e-3, 30.0
sizes = [D, H, H, S]
def init():
    row = []
    for i, o in zip(sizes, sizes[1:]):
        row += [rng.normal(size=o) * 0.3, rng.normal(size=i * o) * 0.8]
    return np.concatenate(row).astype(np.float32)
def phi(row, x):
    at = 0
    for n, (i, o) in enumerate(zip(sizes, sizes[1:])):
        b = row[at:at + o]; k = row[at + o:at + o + i * o].reshape(i, o); at += o + i * o
        x = x @ k + b
        if n < len(sizes) - 2: x = jax.nn.relu(x)
    return x
def reward(row, b):
    z = b["skill"]; u = z if CONTINUOUS else (z - z.mean(1, keepdims=True)) * S / (S - 1)
    return ((phi(row, b["next"]) - phi(row, b["now"])) * u).sum(1)
def room(row, b):
    return jnp.minimum(1 - jnp.square(phi(row, b["next"]) - phi(row, b["now"])).mean(1), SLACK)
def te(row, log, b):
    return -(reward(row, b) + jnp.exp(log) * room(row, b)).mean()
def adam(p, g, m, v, t):
    m = 0.9 * m + 0.1 * g; v = 0.999 * v + 0.001 * g * g
    return p - LR * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8), m, v
out, row, log = {}, jnp.asarray(init()), jnp.float32(np.log(LAM))
out["row"] = np.asarray(row); out["const.learning_rate"] = np.float64([LR])
out["const.slack"] = np.float64([SLACK]); out["const.multiplier"] = np.float64([LAM])
m = v = jnp.zeros_like(row); lm = lv = jnp.float32(0)
for t in range(1, 5):
    z = np.eye(S, dtype=np.float32)[rng.integers(0, S, B)]
    if CONTINUOUS:
        z = rng.normal(size=(B, S)); z = (z / np.linalg.norm(z, axis=1, keepdims=True)).astype(np.float32)
    now = rng.normal(size=(B, D)).astype(np.float32); nxt = (now + rng.normal(size=(B, D)) * [0.3, 1.0, 2.0]).astype(np.float32)
    b = dict(skill=jnp.asarray(z), now=jnp.asarray(now), next=jnp.asarray(nxt))
    out[f"skill_{t}"], out[f"now_{t}"], out[f"next_{t}"] = z, now, nxt
    out[f"reward_{t}"] = np.asarray(reward(row, b))
    loss, g = jax.value_and_grad(te)(row, log, b)
    dual = jnp.mean(room(row, b))
    out[f"loss_{t}"] = np.float32([loss])
    row, m, v = adam(row, g, m, v, t); log, lm, lv = adam(log, dual, lm, lv, t)
    out[f"row_{t}"] = np.asarray(row); out[f"log_multiplier_{t}"] = np.float32([log])
    print(t, float(loss), float(log), float(dual))
np.savez_compressed(sys.argv[1], **out)
