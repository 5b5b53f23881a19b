"""golden_ppga.py CHECKOUT: single steps of PPGA's published code: 21_ppga.npz of evolution and of ppo.

CHECKOUT is that of adaptive-intelligent-robotics/QDAC; of its baselines/PPGA run the emitter (branching, xNES,
restarts) and RL/ppo.py (rewards of a walk, advantages, loss and gradient), on networks of a few units. Needs
torch and evotorch. Rows of networks are those of qdnb: bias, then kernel of each layer; the outputs of a policy are
means, then scales before the softplus.
"""
import contextlib, importlib.abc, importlib.machinery, sys, types
from unittest.mock import MagicMock
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/baselines/PPGA/pyribs"]


class Unused(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that the steps do not use, if they are not installed."""
    names = "brax cma colorlog gym matplotlib numba numpy_groupies pandas scipy semantic_version sklearn " \
            "sortedcontainers threadpoolctl wandb".split()

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name.split(".")[0] in self.names else None

    def create_module(self, spec):
        module = MagicMock()
        module.__spec__, module.__path__, module.__name__ = spec, [], spec.name
        return module

    def exec_module(self, module):
        pass


class FullPrecision(contextlib.ContextDecorator):
    def __init__(self, **_): pass
    def __enter__(self): pass
    def __exit__(self, *_): pass


import evotorch, numpy as np, torch
sys.meta_path.append(Unused())
torch.amp.autocast = FullPrecision
from baselines.PPGA.RL import ppo as published
from baselines.PPGA.models.actor_critic import Actor
from baselines.PPGA.models.vectorized import VectorizedActor
from ribs.emitters import _proximal_policy_gradient_arborescence_emitter as branching

rng = np.random.default_rng(20230613)
f32 = lambda *shape: rng.normal(size=shape).astype(np.float32)
torch.manual_seed(1)

# Three generations of an emitter for descriptors of one and of four components. Nothing improves in the third.
branching.torch = types.SimpleNamespace(device=lambda _: torch.device("cpu"))
BATCH, out = 9, {}
for d in (1, 4):
    params, elite = 4 + 6 * (1 + d), f32(4 + 6 * (1 + d))
    found = types.SimpleNamespace(solution_batch=[elite], measures_batch=[0], objective_batch=[0])
    archive = types.SimpleNamespace(measure_dim=d, solution_dim=params, dtype=np.float32, sample_elites=lambda n: found)
    emitter = branching.PPGAEmitter(types.SimpleNamespace(theta=None), archive, f32(params), 0.7, BATCH, "imp", seed=d,
                                    normalize_obs=False, normalize_returns=False)
    for g in range(3):
        jacobian = 0.1 * f32(1, 1 + d, params)
        old = {"theta": emitter.theta, "jacobian": jacobian[0].copy(), "mean": emitter.opt.mu, "root": emitter.opt.A}
        emitter.tell_dqd(None, None, None, jacobian, None, None)
        branches, noise = emitter.ask(), None
        noise = emitter.opt._distribution.to_local_coordinates(torch.tensor(emitter._grad_coefficients))
        values = f32(BATCH) - (3 if g == 2 else 0)
        values = np.minimum(values, -0.1) if g == 2 else values
        restarts = emitter.tell(branches, values, None, (values > 0).astype(int), values)
        old |= {"gradients": emitter._jacobian_batch[0], "noise": noise, "coefficients": emitter._grad_coefficients,
                "branches": branches, "improvement": values, "restarts": np.float32([restarts])}
        if not restarts:
            old |= {"after.mean": emitter.opt.mu, "after.root": emitter.opt.A}
        out |= {f"{d}.{g}.{k}": np.array(x, np.float32) for k, x in old.items()}
np.savez_compressed("qdnb/algorithms/evolution/testdata/21_ppga.npz", **out)

# A walk of one update in scripted environments, without what qdnb leaves out: normalisation, bounds of values and
# gradients. lambda is 1, where the advantages are those of Brax.
OBS, ACTIONS, MEASURES, ENVS, STEPS, HIDDEN = 3, 2, 2, 6, 5, 4


class Small(Actor):
    def __init__(self, *_, **named):
        super().__init__((OBS,), (ACTIONS,))
        inner, outer = torch.nn.Linear(OBS, HIDDEN), torch.nn.Linear(HIDDEN, ACTIONS)
        self.actor_mean = torch.nn.Sequential(inner, torch.nn.Tanh(), outer)
        self.actor_logstd = torch.nn.Parameter(torch.tensor(f32(1, ACTIONS) / 4 - 0.5))


class Scripted:
    obs, reward, measures = f32(STEPS + 1, ENVS, OBS), f32(STEPS, ENVS), f32(STEPS, ENVS, MEASURES)
    dones, at = (rng.random((STEPS, ENVS)) < 0.25).astype(np.float32), 0

    def reset(self):
        return torch.tensor(self.obs[0])

    def step(self, _):
        t, self.at = self.at, self.at + 1
        return (torch.tensor(self.obs[t + 1]), torch.tensor(self.reward[t]), torch.tensor(self.dones[t]),
                {"measures": torch.tensor(self.measures[t]), "truncation": torch.zeros(ENVS)})


settings = dict(seed=1, num_envs=ENVS, obs_shape=(OBS,), action_shape=(ACTIONS,), num_dims=MEASURES,
                rollout_length=STEPS, normalize_obs=False, normalize_returns=False, learning_rate=1e-3, report_interval=1,
                torch_deterministic=True, value_bootstrap=False, gamma=0.97, gae_lambda=1.0, num_minibatches=1,
                update_epochs=1, norm_adv=False, clip_coef=0.2, clip_vloss=False, entropy_coef=0.0, vf_coef=0.25,
                max_grad_norm=1e9, target_kl=None, use_wandb=False)
published.VectorizedActor = lambda agents, _, *rest, **named: VectorizedActor(agents, Small, *rest, **named)
published.Actor = Small
ppo, env, out = published.PPO(types.SimpleNamespace(**settings)), Scripted(), {}
ppo.mean_critic = published.Critic((OBS,))
ppo.mean_critic.core = torch.nn.Sequential(torch.nn.Linear(OBS, HIDDEN), torch.nn.Tanh())
ppo.mean_critic.critic = torch.nn.Linear(HIDDEN, 1)
ppo.mean_critic_optim = torch.optim.Adam(ppo.mean_critic.parameters())
ppo.grad_coeffs = f32(1, 1 + MEASURES)
coefficients, older = ppo.grad_coeffs[0].clone(), 0.3 * f32(ENVS * STEPS)


def row(layers, scales, of):
    """A row of parameters, or of their gradients, with two columns of scales in the last layer of a policy."""
    parts = []
    for k, layer in enumerate(layers):
        kernel, bias = of(layer.weight).reshape(layer.weight.shape[-2:]).T, of(layer.bias).ravel()
        if scales is not None and k == len(layers) - 1:
            kernel, bias = np.hstack([kernel, np.full_like(kernel, scales[1])]), np.hstack([bias, scales[0]])
        parts += [bias, kernel.ravel()]
    return np.concatenate(parts).astype(np.float32)


def update(values, batch, **modes):
    obs, logprobs, actions, advantages, returns = batch
    layers = [[b for b in ppo.vec_inference.actor_mean if hasattr(b, "weight")],
              [ppo.mean_critic.core[0], ppo.mean_critic.critic]]
    value, gradient = lambda p: p.detach().numpy().copy(), lambda p: p.grad.numpy()
    scale = torch.exp(ppo.vec_inference.actor_logstd).detach().numpy().ravel()
    before = np.log(np.expm1(scale - 1e-3))  # the inverse of softplus(x) + 0.001
    out["policy"], out["value"] = row(layers[0], (before, 0), value), row(layers[1], None, value)
    ppo.cfg.gae_lambda = 0.9
    out["returns.0.9"] = ppo.calculate_rewards(ppo.next_obs, None, ppo.rewards, ppo.values, ppo.dones, STEPS,
                                               move_mean_agent=True)[1].T.reshape(-1)
    losses = ppo_update(values, (obs, logprobs + torch.tensor(older), actions, advantages, returns), **modes)
    by = ppo.vec_inference.actor_logstd.grad.numpy().ravel() / scale / (1 + np.exp(-before))
    out["gradient.policy"] = row(layers[0], (by, np.nan), gradient)
    out["gradient.value"] = row(layers[1], None, gradient)
    out["actions"], out["returns"], out["advantages"] = actions[0], returns, advantages
    out["loss.policy"], out["loss.value"] = losses[0].detach(), settings["vf_coef"] * losses[1].detach()
    return losses


ppo_update, ppo.batch_update = ppo.batch_update, update
ppo.agents = [Small()]
ppo.train(env, 1, STEPS, move_mean_agent=True)
out |= dict(obs=env.obs.swapaxes(0, 1), reward=env.reward.T, measures=env.measures.swapaxes(0, 1), dones=env.dones.T,
            coefficients=coefficients, older=older)
for k in "gamma", "clip_coef":
    out["const." + k] = settings[k]
np.savez_compressed("qdnb/algorithms/ppo/testdata/21_ppga.npz", **{k: np.array(x, np.float32) for k, x in out.items()})
