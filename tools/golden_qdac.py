"""golden_qdac.py OUT SCOPA_LOSS: 17_qdac.npz: losses, gradients and three updates of QDAC (Grillotti, Faldor, González León and Cully
2024). The losses are those of the published code, in the file SCOPA_LOSS (baselines/qdax/core/neuroevolution/losses/scopa_loss.py);
networks, distribution and Adam are transcribed. All updates of a step use the networks from before it."""
import importlib.util
import sys
import types

import numpy as np, jax, jax.numpy as jnp

OUT, SOURCE = sys.argv[1:]
for name, attributes in {  # imported for annotations only
        "brax.training.distribution": ["ParametricDistribution"], "baselines.qdax.core.neuroevolution.buffers.buffer": ["Transition"],
        "baselines.qdax.types": ["Action", "Observation", "Params", "RNGKey", "Skill"]}.items():
    for i in range(name.count(".") + 1):
        sys.modules.setdefault(".".join(name.split(".")[:i + 1]), types.ModuleType("unused"))
    for attribute in attributes:
        setattr(sys.modules[name], attribute, object)
spec = importlib.util.spec_from_file_location("scopa_loss", SOURCE)
published = importlib.util.module_from_spec(spec)
spec.loader.exec_module(published)

rng = np.random.default_rng(20240514)
S, A, D, H, B, STEPS = 3, 2, 2, 6, 12, 3  # observations, actions, components, units, transitions, updates
CONST = dict(learning_rate=1e-2, discount=0.9, tau=0.05, reward_scaling=2.0, distance=2.0, smooth=0.3, alpha_init=0.7)
SIZES = dict(actor=[S + D, H, H, 2 * A], critic=[S + D + A, H, H, 1], features=[S + D + A, H, H, D], multiplier=[S + D, H, H, 1])


def init(name, rows):
    return jnp.asarray(np.stack([np.concatenate([np.concatenate([rng.normal(size=o) * 0.3, rng.normal(size=i * o) * 0.7])
                                                 for i, o in zip(SIZES[name], SIZES[name][1:])]) for _ in range(rows)]), jnp.float32)


def apply(name, row, *x):
    x, at, sizes = jnp.concatenate(x, axis=-1), 0, SIZES[name]
    for n, (i, o) in enumerate(zip(sizes, sizes[1:])):
        x = x @ row[at + o:at + o + i * o].reshape(i, o) + row[at:at + o]
        at += o + i * o
        x = jax.nn.relu(x) if n < len(sizes) - 2 else x
    return x


class Distribution:
    """NormalTanhDistribution of Brax, whose keys are the noise itself."""
    def scale(self, p): return jax.nn.softplus(p[..., A:]) + 0.001
    def sample_no_postprocessing(self, p, noise): return p[..., :A] + self.scale(p) * noise
    def postprocess(self, u): return jnp.tanh(u)
    def log_prob(self, p, u):
        normal = -0.5 * jnp.square((u - p[..., :A]) / self.scale(p)) - 0.5 * jnp.log(2 * jnp.pi) - jnp.log(self.scale(p))
        return (normal - 2 * (jnp.log(2.0) - u - jax.nn.softplus(-2 * u))).sum(-1)


actor_loss, critic_loss, features_loss, multiplier_loss, alpha_loss = published.make_scopa_loss_fn(
    actor_fn=lambda p, s, z: apply("actor", p[0], s, z),
    critic_fn=lambda p, s, a, z: jnp.concatenate([apply("critic", row, s, z, a) for row in p], -1),
    successor_features_fn=lambda p, s, a, z: jnp.stack([apply("features", row, s, z, a) for row in p], -1),
    lagrange_fn=lambda p, s, z: apply("multiplier", p[0], s, z),
    parametric_action_distribution=Distribution(), reward_scaling=CONST["reward_scaling"], discount=CONST["discount"], action_size=A,
    delta=CONST["distance"], delta_pseudo_huber_loss=CONST["smooth"], lambda_=1.0)


def adam(p, g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - CONST["learning_rate"] * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8), m, v


nets = dict(actor=init("actor", 1), critic=init("critic", 2), target_critic=init("critic", 2), features=init("features", 2),
            target_features=init("features", 2), multiplier=init("multiplier", 1), log_alpha=jnp.float32(np.log(CONST["alpha_init"])))
moments = {name: (jnp.zeros_like(p), jnp.zeros_like(p)) for name, p in nets.items()}
out = {"const." + name: np.float64([value]) for name, value in CONST.items()} | {"const.hidden": np.int32([H, H])}
out |= {name: np.asarray(value) for name, value in nets.items()}
for t in range(1, STEPS + 1):
    b = dict(obs=rng.normal(size=(B, S)), next_obs=rng.normal(size=(B, S)), actions=rng.uniform(-1, 1, (B, A)), rewards=rng.normal(size=B),
             dones=np.arange(B) % 3 == 0, truncations=np.arange(B) % 6 == 0, state_desc=rng.uniform(-1, 1, (B, D)),
             desc_prime=rng.uniform(-1, 1, (B, D)), noise_actor=rng.normal(size=(B, A)), noise_critic=rng.normal(size=(B, A)),
             noise_alpha=rng.normal(size=(B, A)))
    b = {name: np.asarray(x, np.float32) for name, x in b.items()}
    out |= {f"{name}_{t}": x for name, x in b.items()}
    batch, alpha = types.SimpleNamespace(**b), jnp.exp(nets["log_alpha"])
    common = dict(transitions=batch)
    def value_and_grad(loss, name, noise, **more):
        return jax.value_and_grad(loss)(nets[name], random_key=b["noise_" + noise], **common, **more)
    found = {
        "actor": value_and_grad(actor_loss, "actor", "actor", critic_params=nets["critic"], successor_features_params=nets["features"],
                                lagrange_params=nets["multiplier"], alpha=alpha),
        "critic": value_and_grad(critic_loss, "critic", "critic", target_critic_params=nets["target_critic"], actor_params=nets["actor"],
                                 alpha=alpha),
        "features": value_and_grad(features_loss, "features", "critic", target_successor_features_params=nets["target_features"],
                                   actor_params=nets["actor"], alpha=alpha),
        "multiplier": value_and_grad(multiplier_loss, "multiplier", "actor", actor_params=nets["actor"],
                                     successor_features_params=nets["features"]),
        "log_alpha": value_and_grad(alpha_loss, "log_alpha", "alpha", actor_params=nets["actor"]),
    }
    for name, (loss, gradient) in found.items():
        nets[name], *moments[name] = adam(nets[name], gradient, *moments[name], t)
        out[f"{name}_loss_{t}"], out[f"{name}_gradient_{t}"] = np.float32([loss]), np.asarray(gradient)
    for name in ("critic", "features"):
        nets["target_" + name] = (1 - CONST["tau"]) * nets["target_" + name] + CONST["tau"] * nets[name]
    out |= {f"{name}_after_{t}": np.atleast_1d(np.asarray(value)) for name, value in nets.items()}
    print(t, {name: float(loss) for name, (loss, _) in found.items()})
np.savez_compressed(OUT, **out)
