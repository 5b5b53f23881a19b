"""golden_csf.py CHECKOUT OUT: 20_csf.npz: rewards, losses and three updates by the published code of contrastive successor
features (Zheng et al. 2025).

CHECKOUT is that of jens321/csf; of it run the losses of iod/metra_sf.py. Needs torch. Networks are flat rows: bias, then
kernel. Actions are given, with log-probabilities of 0.
"""
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import torch
import torch._dynamo  # before the modules below are replaced

sys.path.insert(0, sys.argv[1])
for name in ("global_context dowel_wrapper seaborn sklearn garage garagei garage.misc garage.misc.tensor_utils moviepy iod.iod "
             "matplotlib matplotlib.pyplot matplotlib.patches").split():
    sys.modules[name] = MagicMock()  # samplers and figures
sys.modules["iod.iod"].IOD = object
from iod.metra_sf import MetraSf

O, Z, A, B, HIDDEN, NEGATIVES, LR, GAMMA, TAU = 4, 2, 3, 12, 6, 5, 1e-2, 0.97, 0.05
rng = np.random.default_rng(20241211)
torch.manual_seed(1)


class MLP(torch.nn.Sequential):
    def __init__(self, inputs):
        sizes = [inputs, HIDDEN, HIDDEN, Z]
        layers = [torch.nn.Linear(i, o) for i, o in zip(sizes, sizes[1:])]
        super().__init__(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])

    def row(self):
        return np.concatenate([x.detach().numpy().T.ravel() for layer in list(self)[::2] for x in (layer.bias, layer.weight)])


phi, nets = MLP(O), [MLP(O + Z + A) for _ in range(4)]
psi, targets = nets[:2], nets[2:]
of = lambda net: lambda obs, action: net(torch.cat([obs, action], 1))
adam = dict(traj_encoder=torch.optim.Adam(phi.parameters(), LR),
            qf=torch.optim.Adam([p for net in psi for p in net.parameters()], LR))
actions = []


class Policy:
    process_observations = staticmethod(lambda obs: obs)

    def __call__(self, obs):
        sample = lambda: (None, actions.pop(0))
        return (SimpleNamespace(rsample_with_pre_tanh_value=sample, log_prob=lambda a, pre_tanh_value: torch.zeros(B)),)


def descend(loss, optimizer_keys):
    if optimizer_keys[0] in adam:
        adam[optimizer_keys[0]].zero_grad()
        loss.backward()
        adam[optimizer_keys[0]].step()


def pairs(nets):  # with the parameters that _update_targets moves
    return [type("Net", (), {"__call__": lambda s, o, a, n=n: of(n)(o, a), "parameters": lambda s, n=n: n.parameters()})() for n in nets]


algo = SimpleNamespace(
    inner=1, metra_include_actions=0, no_diff_in_rep=0, self_normalizing=0, log_sum_exp=1, sample_new_z=1, num_negative_z=NEGATIVES,
    dim_option=Z, scale_std=1.0, unit_length=1, scale_radius=1.0, symmetrize_log_sum_exp=0, discrete=0, metra_mlp_rep=0, dual_reg=1,
    dual_lam=SimpleNamespace(param=torch.zeros(1)), dual_dist="one", no_diff_in_penalty=0, use_l2_penalty=0, dual_slack=1e-3,
    infonce_lam=5.0, fixed_lam=None, rep_temp=1.0, actor_temp=1.0, relabel_critic_z=0, relabel_actor_z=0, use_fp=0, turn_off_dones=1,
    discount=GAMMA, device="cpu", _trans_minibatch_size=B, tau=TAU, sf_use_td=1, sf_use_infonce_repr=0, sf_geometric_entropy=0,
    no_actor_ent_bonus=1, traj_encoder=lambda x: SimpleNamespace(mean=phi(x)), option_policy=Policy(), _gradient_descent=descend,
    log_alpha=SimpleNamespace(param=torch.zeros(1)), _get_concat_obs=lambda obs, z: torch.cat([obs, z], 1))
algo.qf1, algo.qf2 = pairs(psi)
algo.target_qf1, algo.target_qf2 = pairs(targets)
for name in "_update_rewards _update_loss_te _update_loss_dual_lam _update_loss_sf_td _update_targets".split():
    setattr(algo, name, getattr(MetraSf, name).__get__(algo))

out = {"const.learning_rate": [LR], "const.discount": [GAMMA], "const.tau": [TAU], "const.weight": [algo.infonce_lam],
       "phi_0": phi.row(), "psi_0": np.stack([n.row() for n in psi]), "targets_0": np.stack([n.row() for n in targets])}
unit = lambda n: (lambda z: z / np.linalg.norm(z, axis=1, keepdims=True))(rng.normal(size=(n, Z)))
for t in range(1, 4):
    obs = rng.normal(size=(B, O))
    v = dict(obs=obs, next_obs=obs + rng.normal(size=(B, O)), options=unit(B), actions=np.tanh(rng.normal(size=(B, A))),
             actor_actions=np.tanh(rng.normal(size=(B, A))), next_actions=np.tanh(rng.normal(size=(B, A))), dones=np.zeros(B))
    v = {k: torch.tensor(x, dtype=torch.float32) for k, x in v.items()}
    v["next_options"] = v["options"]
    out.update({f"{k}_{t}": x.numpy() for k, x in v.items()})
    torch.manual_seed(t)
    z = torch.randn(NEGATIVES, Z)
    out[f"negatives_{t}"] = (z / torch.norm(z, dim=-1, keepdim=True)).numpy()
    tensors = {}
    actions[:] = [v["actor_actions"]]
    MetraSf._optimize_op(algo, tensors, v)  # the published code does this last; here with the networks before the step
    torch.manual_seed(t)
    MetraSf._optimize_te(algo, tensors, v)
    out[f"reward_{t}"] = v["rewards"].detach().numpy()
    actions[:] = [v["next_actions"]]
    MetraSf._optimize_sf(algo, tensors, v)
    out[f"encoder_loss_{t}"], out[f"actor_loss_{t}"] = tensors["LossTe"].detach().numpy(), tensors["LossOp"].detach().numpy()
    out[f"features_loss_{t}"] = (tensors["LossQf1"] + tensors["LossQf2"]).detach().numpy()
    out[f"phi_{t}"], out[f"psi_{t}"] = phi.row(), np.stack([n.row() for n in psi])
    out[f"targets_{t}"] = np.stack([n.row() for n in targets])
np.savez_compressed(sys.argv[2], **{k: np.atleast_1d(np.float64(x) if k.startswith("const") else np.float32(x)) for k, x in out.items()})
