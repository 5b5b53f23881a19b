"""golden_ascii.py CHECKOUT OUT: 18_ascii.npz: single steps of ASCII-ME's published code.

CHECKOUT is that of konstantinosmitsides/ASCII-ME; of it run utils.py (returns, cosine similarity) and
qdax/core/emitters/ascii_emitter.py (loss, Adam steps). Needs jax, flax, optax, flashbax and chex. The
policy is that of qdnb: ReLU, and tanh of the output. Networks are flat rows: bias, then kernel.
"""
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock
sys.path.insert(0, sys.argv[1])
for name in ("brax brax.envs brax.v1 brax.v1.envs jumanji distrax pandas omegaconf qdax.types qdax.environments "
             "qdax.environments_v1 qdax.environments.base_wrappers qdax.core.neuroevolution.networks.networks "
             "qdax.core.neuroevolution.buffers.buffer qdax.core.containers.mapelites_repertoire "
             "qdax.core.containers.repertoire qdax.core.emitters.emitter").split():
    sys.modules[name] = MagicMock()  # types, simulators and networks that the steps do not use
sys.modules["qdax.core.emitters.emitter"].Emitter = object
sys.modules["qdax.core.emitters.emitter"].EmitterState = object
import flax.linen as nn, jax, jax.numpy as jnp, numpy as np
from utils import get_return_for_batch_episodes
from qdax.core.emitters.ascii_emitter import ASCIIConfig, ASCIIEmitter

O, A, T, P, HIDDEN, STD = 4, 2, 9, 6, (7, 6), 0.8  # a small std, so that ratios are on both sides of the clip
rng = np.random.default_rng(20250118)
f32 = lambda *shape: rng.normal(size=shape).astype(np.float32)


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        for n in HIDDEN:
            x = nn.relu(nn.Dense(n)(x))
        mean = jnp.tanh(nn.Dense(A)(x))
        log_prob = lambda a: jax.scipy.stats.norm.logpdf(a, mean, STD).sum(-1)
        return SimpleNamespace(log_prob=log_prob), mean


config = ASCIIConfig(buffer_sample_batch_size=1, buffer_add_batch_size=P, no_epochs=8, learning_rate=3e-2,
                     clip_param=0.2, std=STD)
policy = MLP()
emitter = ASCIIEmitter(config, policy, SimpleNamespace(episode_length=T, action_size=A, observation_size=O))


def row(params):
    layers = [params["params"][f"Dense_{i}"] for i in range(len(HIDDEN) + 1)]
    return np.concatenate([np.asarray(layer[k]).ravel() for layer in layers for k in ("bias", "kernel")])


def new(seed):  # biases, which start at 0, get random values, too
    return jax.tree.map(lambda x: x + 0.2 * f32(*x.shape), policy.init(jax.random.key(seed), jnp.zeros(O)))


# episodes; some end early, and continue as others
obs, actions, rewards = f32(P, T, O), np.tanh(f32(P, T, A)), f32(P, T)
done = np.zeros((P, T), np.float32)
done[:, -1] = 1
done[1, 3] = done[4, 5] = done[4, 7] = 1
mask = np.roll(np.clip(np.cumsum(done, 1), 0, 1), 1, axis=1)
mask[:, 0] = 0
returns = get_return_for_batch_episodes(rewards, 1 - mask, T)
parents, elite_obs = [new(s) for s in range(P)], f32(P, T, O)
elite_obs[2, 4] = 0  # without a direction
elite_returns = get_return_for_batch_episodes(f32(P, T), np.ones((P, T), np.float32), T)

children, losses, weights = [], [], []
for i in range(P):
    trans = SimpleNamespace(obs=jnp.asarray(obs[i:i + 1]), actions=jnp.asarray(actions[i:i + 1]),
                            rewards=returns[i:i + 1], dones=jnp.asarray(mask[i:i + 1]))
    emitter._buffer = SimpleNamespace(sample=lambda *_: SimpleNamespace(experience=trans))
    mutate = ASCIIEmitter._mutation_function_ascii.__wrapped__  # without the cache of its trace
    child = mutate(emitter, parents[i], elite_returns[i], SimpleNamespace(obs=jnp.asarray(elite_obs[i])),
                   SimpleNamespace(buffer_state=None), None)
    children.append(row(child))
out = dict(obs=obs, actions=actions, rewards=rewards, done=done, returns=returns, elite_obs=elite_obs,
           elite_returns=elite_returns, parents=np.stack([row(p) for p in parents]), children=np.stack(children))
for k in "learning_rate clip_param std no_epochs discount_rate".split():
    out["const." + k] = np.float32([getattr(config, k)])
np.savez_compressed(sys.argv[2], **{k: np.asarray(x, np.float32) for k, x in out.items()})
print({k: np.shape(x) for k, x in out.items()}, np.abs(out["children"] - out["parents"]).max(1))
