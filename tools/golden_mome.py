"""golden_mome.py OUT: 16_mome.npz: batches that QDax 0.5.0 inserts into a MOME repertoire (qdax/core/containers/mome_repertoire.py).

Genotypes are numbers from 1 on. Per batch the file has the candidates, and after it the numbers in each cell in ascending order,
0 where the front is shorter, with their objectives, the hypervolume of each front and that of the global front (two objectives only:
qdax/utils/pareto_front.py). Objectives are multiples of 1/4, so that some are equal.
"""
import sys, warnings
warnings.filterwarnings("ignore")
import jax.numpy as jnp, numpy as np
from qdax.core.containers.mome_repertoire import MOMERepertoire
from qdax.utils.pareto_front import compute_hypervolume

rng = np.random.default_rng(20240202)
out = {}
# cells, slots of a front, objectives, candidates of a batch; fronts of "full" and "three" fill up
for name, (cells, slots, objectives, batch) in {
        "small": (5, 12, 2, 40), "full": (3, 3, 2, 30), "three": (4, 6, 3, 32), "one": (6, 1, 2, 25)}.items():
    centroids = rng.uniform(-1, 1, (cells, 2)).astype(np.float32)
    reference = np.full(objectives, -20, np.float32)
    out |= {f"{name}.centroids": centroids, f"{name}.slots": np.float32([slots]), f"{name}.reference": reference}
    repertoire, first = None, 1
    for b in range(4):
        ids = np.arange(first, first + batch, dtype=np.float32)
        first += batch
        descriptors = rng.uniform(-1.2, 1.2, (batch, 2)).astype(np.float32)
        # near a plane that moves up, so that later candidates dominate some members
        x = rng.normal(0, 4, (batch, objectives))
        x += (b + rng.normal(0, 1, (batch, 1)) - x.sum(1, keepdims=True)) / objectives
        x = (np.round(4 * x) / 4).astype(np.float32)
        if repertoire is None:
            repertoire = MOMERepertoire.init(ids[:, None], x, descriptors, centroids, slots)
        else:
            repertoire = repertoire.add(jnp.asarray(ids[:, None]), jnp.asarray(descriptors), jnp.asarray(x))
        fitnesses = np.asarray(repertoire.fitnesses)
        numbers = np.where(np.isinf(fitnesses[..., 0]), np.inf, np.asarray(repertoire.genotypes)[..., 0])
        order = np.argsort(numbers, axis=1)
        after = np.take_along_axis(numbers, order, 1)
        out |= {f"{name}.in_ids_{b}": ids, f"{name}.in_descriptors_{b}": descriptors, f"{name}.in_objectives_{b}": x,
                f"{name}.ids_{b}": np.where(np.isinf(after), 0, after).astype(np.float32),
                f"{name}.objectives_{b}": np.take_along_axis(fitnesses, order[..., None], 1)}
        if objectives == 2:
            front, _ = repertoire.compute_global_pareto_front()
            volume = lambda f: np.float32(compute_hypervolume(jnp.asarray(f), jnp.asarray(reference)))
            out |= {f"{name}.hypervolumes_{b}": np.stack([volume(f) for f in fitnesses]),
                    f"{name}.global_{b}": volume(front)[None]}
np.savez_compressed(sys.argv[1], **out)
