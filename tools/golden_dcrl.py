"""golden_dcrl.py OUT: 15_dcrl.npz: single steps of QDax 0.5.0's DCRL emitter (qdax/core/emitters/dcrl_emitter.py).

Networks are flat rows: bias, then kernel of each layer. The critics of QDax read observation, action
and descriptor; their rows are stored for the order observation, descriptor, action. policy_noise is 0.
"""
import sys, types, copy
for name in ("qdax.tasks.brax", "qdax.tasks.brax.v1", "qdax.tasks.brax.v1.envs", "qdax.tasks.brax.v1.envs.base_env"):
    sys.modules.setdefault(name, types.ModuleType(name))
sys.modules["qdax.tasks.brax.v1.envs.base_env"].QDEnv = object  # the type only; brax is not needed
import jax, jax.numpy as jnp, numpy as np
from qdax.core.emitters.dcrl_emitter import DCRLConfig, DCRLEmitter
from qdax.core.neuroevolution.buffers.buffer import DCRLTransition
from qdax.core.neuroevolution.networks.networks import MLP, MLPDC, QModuleDC

O, A, D, B, H, STEPS, OFFSET = 4, 2, 3, 12, (7, 6), 3, 0.75
rng = np.random.default_rng(20240116)
f32 = lambda *shape: rng.normal(size=shape).astype(np.float32)
lower, upper = np.float32([-30, 0, 2]), np.float32([30, 1, 5])


class Env:
    observation_size, action_size, descriptor_length = O, A, D
    descriptor_limits = (jnp.asarray(lower), jnp.asarray(upper))


config = DCRLConfig(critic_hidden_layer_size=H, policy_noise=0.0, lengthscale=0.4, discount=0.97,
                    critic_learning_rate=3e-3, actor_learning_rate=2e-3, policy_learning_rate=5e-3,
                    soft_tau_update=0.05, reward_scaling=1.5, policy_delay=2)
policy = MLP(layer_sizes=H + (A,), final_activation=jnp.tanh)
actor = MLPDC(layer_sizes=H + (A,), final_activation=jnp.tanh)
emitter = DCRLEmitter(config, policy, actor, Env())
critic = QModuleDC(n_critics=2, hidden_layer_sizes=H)
out = {"lower": lower, "upper": upper}
for k in ("policy_noise lengthscale discount critic_learning_rate actor_learning_rate "
          "policy_learning_rate soft_tau_update reward_scaling policy_delay noise_clip").split():
    out["const." + k] = np.float32([getattr(config, k)])
out["const.offset"] = np.float32([OFFSET])


def mlp(p, order=None):
    """A network as a flat row; order permutes the inputs."""
    parts = []
    for i in range(len(p)):
        kernel = np.asarray(p[f"Dense_{i}"]["kernel"])
        parts += [np.asarray(p[f"Dense_{i}"]["bias"]), kernel[order] if order is not None and i == 0 else kernel]
    return np.concatenate([x.ravel() for x in parts]).astype(np.float32)


inputs = np.r_[0:O, O + A:O + A + D, O:O + A]
critic_rows = lambda p: np.stack([mlp(p["params"][f"MLPDC_{i}"], inputs) for i in range(2)])
row = lambda p: mlp(p["params"])
# biases, which QDax starts at 0, get random values, too
noisy = lambda p: jax.tree.map(lambda x: x + 0.2 * f32(*x.shape), p)
key = jax.random.key(0)
zeros = jnp.zeros((1, O)), jnp.zeros((1, A)), jnp.zeros((1, D))
new_critic = lambda s: noisy(critic.init(jax.random.key(s), *zeros))
new_actor = lambda s: noisy(actor.init(jax.random.key(s), zeros[0], zeros[2]))
new_policy = lambda s: noisy(policy.init(jax.random.key(s), zeros[0]))

# A batch of transitions. Some end, some are truncated; some rewards are below -offset.
data = dict(obs=f32(B, O), next_obs=f32(B, O), actions=np.tanh(f32(B, A)), rewards=f32(B) * 1.5,
            dones=(rng.uniform(size=B) < 0.3).astype(np.float32))
data["truncations"] = data["dones"] * (rng.uniform(size=B) < 0.5).astype(np.float32)
within = lambda n: (lower + (upper - lower) * rng.uniform(size=(n, D))).astype(np.float32)
desc, target = within(B), within(B)
target[::3] = desc[::3]          # some have reached their target,
target[1::3] = desc[1::3] + 0.05 * (upper - lower) * np.tanh(f32(len(desc[1::3]), D))  # some nearly
for name, x in data.items():
    out["data." + name] = np.asarray(x, np.float32)
out["data.desc"], out["data.target"] = desc, target.astype(np.float32)

normalised = jax.vmap(emitter._normalize_desc)
d, dp = normalised(jnp.asarray(desc)), normalised(jnp.asarray(target, dtype=jnp.float32))
out["desc"], out["target"] = np.asarray(d), np.asarray(dp)
# OffsetRewardWrapper and ClipRewardWrapper of the example, then the scaling by similarity
positive = jnp.maximum(jnp.asarray(data["rewards"]) + OFFSET, 0.0)
reward = emitter._similarity(d, dp) * positive
out["reward"] = np.asarray(reward)
transitions = DCRLTransition(obs=data["obs"], next_obs=data["next_obs"], rewards=reward, dones=data["dones"],
                             truncations=data["truncations"], actions=data["actions"],
                             state_desc=jnp.zeros((B, 1)), next_state_desc=jnp.zeros((B, 1)), desc=d, desc_prime=dp)

# Updates. The order of the two is that of PGA-MAP-Elites: the actor, at every second step, by the
# critics before their update.
c, tc, a, ta = new_critic(1), new_critic(2), new_actor(3), new_actor(4)
out["critic"], out["target_critic"], out["actor"], out["target_actor"] = critic_rows(c), critic_rows(tc), row(a)[None], row(ta)[None]
co, ao = emitter._critic_optimizer.init(c), emitter._actor_optimizer.init(a)
loss_c, loss_a = [], []
for step in range(STEPS):
    loss_c.append(emitter._critic_loss_fn(c, ta, tc, transitions, key))
    new = emitter._scan_update_critic((c, tc, co, ta, key), transitions)[0]
    if step % config.policy_delay == 0:
        loss_a.append(emitter._actor_loss_fn(a, c, transitions))
        a, ta, ao = emitter._update_actor(a, ao, ta, c, transitions)
    c, tc, co = new[:3]
    for name, x in (("critic", critic_rows(c)), ("target_critic", critic_rows(tc)), ("actor", row(a)[None]),
                    ("target_actor", row(ta)[None])):
        out[f"{name}_{step + 1}"] = x
    out[f"critic_loss_{step + 1}"] = np.float32([np.mean(loss_c)])
    out[f"actor_loss_{step + 1}"] = np.float32([np.mean(loss_a)])

# Variation of two parents towards their own descriptors, and actors specialised to descriptors.
c, parents = new_critic(5), [new_policy(6), new_policy(7)]
goals = within(2)
out["vary.critic"], out["vary.parents"] = critic_rows(c), np.stack([row(p) for p in parents])
out["vary.goals"], out["vary.obs"] = np.asarray(normalised(jnp.asarray(goals))), f32(STEPS * B, O)
children = []
for p, goal in zip(parents, goals):
    opt = emitter._policies_optimizer.init(p)
    prime = jnp.tile(emitter._normalize_desc(jnp.asarray(goal)), (B, 1))
    for step in range(STEPS):
        batch = transitions.replace(obs=jnp.asarray(out["vary.obs"][step * B:(step + 1) * B]))
        p, opt = emitter._update_policy(p, opt, prime, batch, c)
    children.append(row(p))
out["vary.children"] = np.stack(children)

a, goals = new_actor(8), within(5)
out["inject.actor"], out["inject.goals"] = row(a)[None], goals
special = [emitter._compute_equivalent_params_with_desc(copy.deepcopy(a), jnp.asarray(g)) for g in goals]
out["inject.policies"] = np.stack([row(p) for p in special])
out["inject.obs"] = f32(5, O)
out["inject.actions"] = np.stack([np.asarray(policy.apply(p, o)) for p, o in zip(special, out["inject.obs"])])
direct = np.asarray(actor.apply(a, jnp.asarray(out["inject.obs"]), normalised(jnp.asarray(goals))))
assert np.allclose(direct, out["inject.actions"], atol=1e-6)
np.savez_compressed(sys.argv[1], **{k: np.asarray(x, np.float32) for k, x in out.items()})
print({k: x.shape for k, x in out.items()}, loss_c, loss_a, np.asarray(reward))
