"""golden_xcon.py CHECKOUT: a training (xla/nn) and insertions (repertoire) of AURORA-XCon's published code.

CHECKOUT is that of LisaCoiffard/aurora-xcon; of it run ae_utils/model_train.py (normalisation, triplet
loss, epochs, early stopping) and qdax/core/containers/adaptive_archive.py. Needs jax, flax, optax and chex.
Parameters are one flat row, as in 09_aurora_seq2seq.npz.
"""
import sys, types
from unittest.mock import MagicMock
sys.path.insert(0, sys.argv[1])
for name in "brax brax.envs qdax.core.neuroevolution.buffers.buffer".split():
    sys.modules[name] = MagicMock()  # types that the steps do not use
sys.modules["qdax.tasks.environments"] = types.ModuleType("environments")  # not the simulators
sys.modules["qdax.tasks.environments"].__path__ = [sys.argv[1] + "/qdax/tasks/environments"]
import jax, jax.numpy as jnp, numpy as np, optax
from flax.training.train_state import TrainState
from jax.flatten_util import ravel_pytree
from ae_utils import model_train
from qdax.core.containers.adaptive_archive import UnstructuredRepertoire
from qdax.utils import train_seq2seq

N, L, F, HIDDEN, BATCH, EPOCHS, RATE, DELTA = 24, 6, 3, 4, 8, 60, 1e-2, 0.5
rng = np.random.default_rng(20250401)
f32 = lambda *shape: rng.normal(size=shape).astype(np.float32)

# a training on an archive with three empty slots and a constant feature
obs, fitness = f32(N, L, F), f32(N)
obs[..., 2] = 0.5
empty = np.array([3, 11, 20])
obs[empty], fitness[empty] = np.nan, -np.inf
model = train_seq2seq.get_model(F, True, hidden_size=HIDDEN)
params = train_seq2seq.get_initial_params(model, jax.random.key(1), (1, L, F))
state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(RATE))
archive = UnstructuredRepertoire(genotypes=f32(N, 1), fitnesses=jnp.asarray(fitness), descriptors=f32(N, HIDDEN),
                                 observations=jnp.asarray(obs), max_size=N, d_min=jnp.float32(0.05))
orders, permutation = [], jax.random.permutation
jax.random.permutation = lambda *a, **k: orders.append(permutation(*a, **k)) or orders[-1]
after, info, metrics = model_train.train_function(
    archive, state, jax.random.key(2), model, EPOCHS, RATE, BATCH, False, jax.jit(model_train.train_step_triplet_loss),
    True, min_delta=DELTA, use_triplet_loss=True, margin_auto_adjust=True, hidden_size=HIDDEN)
out = dict(observations=obs, fitnesses=fitness, triplets=np.stack(orders).astype(np.int32), params=ravel_pytree(params)[0],
           trained=ravel_pytree(after.params)[0], losses=metrics["model_loss"], mean=info.mean_observations,
           std=info.std_observations)
for k, x in dict(learning_rate=RATE, min_delta=DELTA, batch=BATCH, hidden=HIDDEN, d_min=archive.d_min,
                 epochs=EPOCHS).items():
    out["const." + k] = np.float32([x])

np.savez_compressed("xla/nn/testdata/19_xcon.npz", **{k: np.asarray(x) for k, x in out.items()})
print(len(orders), "epochs, losses", out["losses"])

# insertions into an archive that is empty first; the genotype is the solution's number
out, archive = {}, UnstructuredRepertoire.init(jnp.full((1, 1), -1.), jnp.full(1, -np.inf), f32(1, 2), f32(1, 1, 1), 20,
                                      jnp.float32(0))
for b in range(4):
    ids, found, at = np.arange(9 * b, 9 * b + 9, dtype=np.float32), f32(9), f32(9, 2)
    archive, _ = archive.add(ids[:, None], at, found, f32(9, 1, 1))
    kept = np.asarray(archive.genotypes).ravel()
    out |= {f"ids_{b}": np.sort(kept[np.asarray(archive.fitnesses) > -np.inf]), f"in_fitnesses_{b}": found,
            f"in_descriptors_{b}": at, f"d_min_{b}": np.float32([archive.d_min])}
np.savez_compressed("qdnb/algorithms/repertoire/testdata/19_xcon.npz", **out)
