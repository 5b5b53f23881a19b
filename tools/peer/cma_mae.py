"""Peer for tasks without physics and for CMA-MAE: golden data and learning curves by pyribs and QDax.

    pip install ribs==0.12.0
    pip install "jax[cpu]==0.10.2" chex flax && pip install --no-deps qdax==0.5.0   # for golden alone
    python cma_mae.py golden ENVS REPERTOIRE EVOLUTION   # folders for the golden files
    qdnb train --algorithm cma-mae --env sphere --seeds 0..9 --generations 500 --set cvt_samples=10000
    python cma_mae.py curves sphere --seeds 10 --iterations 500 --centroids REPERTOIRE.npz > sphere.jsonl
    python compare.py sphere.jsonl runs/cma-mae-sphere-*/metrics.csv

golden writes onestep_{arm,sphere,rastrigin}.npz, 14_cma_mae_archive.npz, 14_cma_mae_strategy.npz, 17_cma_mae_strategies.npz and
22_cma_es.npz.
curves prints one JSON line per seed; arm has --es cma_es --sigma0 0.016. All sizes of the algorithm are arguments; the defaults are those of Fontaine and
Nikolaidis 2023.
"""
import argparse
import json
import os
import time

import numpy as np

LIMIT = 5.12
SHIFT = LIMIT * 0.4


def projection(loss):
    """pyribs, examples/sphere.py, with a function in place of the square."""

    def evaluate(solutions):
        dim = solutions.shape[1]
        worst = loss(np.full(dim, -LIMIT - SHIFT)).sum()
        raw = loss(solutions - SHIFT).sum(axis=1)
        clipped = solutions.copy()
        outside = (clipped < -LIMIT) | (clipped > LIMIT)
        clipped[outside] = LIMIT / clipped[outside]
        measures = np.stack([clipped[:, : dim // 2].sum(axis=1), clipped[:, dim // 2 :].sum(axis=1)], axis=1)
        return (raw - worst) / (0 - worst) * 100, measures

    return evaluate


def arm(solutions):
    """qdax.tasks.arm in NumPy, for curves: a call of JAX per batch would be timed, too."""
    x = np.clip(solutions, 0, 1)
    angles = np.cumsum(2 * np.pi * x - np.pi, axis=1)
    ends = [np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)]
    return -x.std(axis=1), np.stack(ends, axis=1) / (2 * x.shape[1]) + 0.5


TASKS = {
    "sphere": projection(np.square),
    "rastrigin": projection(lambda x: 10 + np.square(x) - 10 * np.cos(2 * np.pi * x)),
    "arm": arm,
}


def golden_tasks(folder):
    import jax
    from qdax.tasks.arm import arm as published

    rng = np.random.default_rng(1)
    n = 100
    for name, task in TASKS.items():
        if name == "arm":
            solutions = rng.uniform(-0.2, 1.2, (64, n)).astype(np.float32)
            solutions[:16] = rng.uniform(0.45, 0.55, (16, n))  # nearly straight
            fitness, descriptor = map(np.asarray, jax.jit(jax.vmap(published))(solutions))
        else:
            solutions = rng.uniform(-8, 8, (64, n)).astype(np.float32)
            solutions[:16] = SHIFT + 0.1 * rng.standard_normal((16, n))  # nearly optimal
            fitness, descriptor = task(solutions.astype(np.float64))
        rows = dict(solution_before=np.zeros_like(solutions), action=solutions, reward=fitness, done=np.ones(64),
                    desc=descriptor, solution_after=solutions)
        np.savez_compressed(os.path.join(folder, f"onestep_{name}.npz"), **{k: np.float32(v) for k, v in rows.items()})


def golden_archive():
    """Batches that pyribs' CVTArchive adds one after the other, with thresholds, values and statuses."""
    from ribs.archives import CVTArchive

    rng = np.random.default_rng(2)
    cells, batch, d, out = 6, 12, 2, {}
    centroids = rng.uniform(0, 1, (cells, d)).astype(np.float32)
    out["archive.centroids"] = centroids
    for name, rate, minimum in (("slow", 0.1, -1.0), ("fast", 0.7, 0.25), ("greedy", 1.0, -2.0), ("fixed", 0.0, 0.0)):
        archive = CVTArchive(solution_dim=1, centroids=centroids.astype(np.float64), ranges=[(0, 1)] * d, learning_rate=rate,
                             threshold_min=minimum, nearest_neighbors="brute_force", dtype=np.float64)
        out[f"archive.{name}"] = np.array([rate, minimum], np.float32)
        for step in range(6):
            fitness = np.round(rng.normal(0.3 * step, 1, batch) * 8) / 8  # ties occur
            descriptors = rng.uniform(0, 1, (batch, d)).astype(np.float32)
            info = archive.add(np.zeros((batch, 1)), fitness, descriptors.astype(np.float64))
            stored = archive.data()
            thresholds = np.full(cells, minimum)
            thresholds[stored["index"]] = stored["threshold"]
            rows = dict(fitness=fitness, descriptors=descriptors, status=info["status"], value=info["value"],
                        thresholds=thresholds)
            out.update({f"archive.{name}.{key}_{step}": np.float32(x) for key, x in rows.items()})
    return out


def golden_strategy():
    """Updates of pyribs' sep-CMA-ES with given samples and rankings."""
    from ribs.emitters.opt import SeparableCMAEvolutionStrategy

    rng = np.random.default_rng(3)
    batch, out = 10, {}
    for name, n, sigma0 in (("short", 5, 0.5), ("long", 200, 0.02)):
        es = SeparableCMAEvolutionStrategy(sigma0, n, batch_size=batch, seed=4)
        es.reset(rng.uniform(-1, 1, n))
        out[f"strategy.{name}.sigma0"] = np.float32([sigma0])
        for step in range(6):
            state = dict(mean=es.mean, sigma=[es.sigma], variance=es.cov.cov, anisotropic_path=es.pc, step_path=es.ps)
            out.update({f"strategy.{name}.{key}_{step}": np.float32(x) for key, x in state.items()})
            if step == 5:
                break
            solutions = es.ask()
            noise = (solutions - es.mean) / (es.sigma * np.sqrt(es.cov.cov))
            values = -np.square(solutions - 1).sum(axis=1)
            es.tell(np.flip(np.argsort(values)), values, batch // 2)
            out[f"strategy.{name}.noise_{step}"] = np.float32(noise)
            out[f"strategy.{name}.value_{step}"] = np.float32(values)
    return out


def golden_strategies():
    """Updates of pyribs' LM-MA-ES, with fewer and with more vectors than generations, and of its OpenAI-ES."""
    from ribs.emitters.opt import LMMAEvolutionStrategy, OpenAIEvolutionStrategy

    lm_parts = lambda es: dict(mean=es.mean, sigma=[es.sigma], step_path=es.ps, vectors=es.m, noise=es._solution_z)
    adam_parts = lambda es: dict(mean=es.adam_opt.theta, first=es.adam_opt._m, second=es.adam_opt._v, noise=es.noise)
    rng = np.random.default_rng(5)
    n, batch, sigma0, out = 24, 6, 0.3, {}
    for name, strategy, parts, settings in (
        ("few", LMMAEvolutionStrategy, lm_parts, dict(n_vectors=3)),
        ("many", LMMAEvolutionStrategy, lm_parts, {}),
        ("openai", OpenAIEvolutionStrategy, adam_parts, dict(lr=0.02, l2_coeff=0.05)),
    ):
        es = strategy(sigma0=sigma0, solution_dim=n, batch_size=batch, seed=6, **settings)
        es.reset(rng.uniform(-1, 1, n))
        for step in range(6):
            solutions = es.ask()
            values = -np.square(solutions - 1).sum(axis=1)
            rows = parts(es) | dict(solutions=solutions, value=values)
            out.update({f"strategy.{name}.{key}_{step}": np.float32(x) for key, x in rows.items()})
            es.tell(np.flip(np.argsort(values)), values, batch // 2)
    return out


def golden_dense():
    """Updates of pyribs' CMA-ES with given samples and rankings, which decomposes the matrix in each of them."""
    from ribs.emitters.opt import CMAEvolutionStrategy

    rng = np.random.default_rng(7)
    n, batch, out = 40, 12, {"dense.sigma0": np.float32([0.3])}
    es = CMAEvolutionStrategy(0.3, n, batch_size=batch, seed=8)
    es.lazy_gap_evals = 0
    es.reset(rng.uniform(-1, 1, n))
    scales = np.logspace(0, 2, n)
    for step in range(41):
        if step % 10 == 0:
            state = dict(mean=es.mean, sigma=[es.sigma], covariance=es.cov.cov, path=es.pc, step_path=es.ps)
            out.update({f"dense.{key}_{step}": np.float32(x) for key, x in state.items()})
        solutions = es.ask()
        values = -(scales * np.square(solutions - 1)).sum(axis=1)
        ranking = np.flip(np.argsort(values))
        es.tell(ranking, values, batch // 2)
        if step % 10 == 0:
            after = dict(mean=es.mean, sigma=[es.sigma], covariance=es.cov.cov, path=es.pc, step_path=es.ps)
            out.update({f"dense.{key}_{step + 1}": np.float32(x) for key, x in after.items()})
            out.update({f"dense.solutions_{step}": np.float32(solutions), f"dense.value_{step}": np.float32(values)})
    return out


# of Tjanaka et al. 2023, config/algorithms/openai_mae.gin
SETTINGS = {"openai_es": dict(lr=0.01, l2_coeff=0.005)}


def curve(args, seed):
    from ribs.archives import CVTArchive
    from ribs.emitters import EvolutionStrategyEmitter
    from ribs.schedulers import Scheduler

    centroids = np.load(args.centroids)["centroids"].astype(np.float64)
    minimum, start, offset = {"arm": (-0.5, 0.5, -0.5)}.get(args.task, (0.0, 0.0, 0.0))
    make = dict(solution_dim=args.dim, centroids=centroids, ranges=[(-1e9, 1e9)] * 2, qd_score_offset=offset)
    archive = CVTArchive(**make, learning_rate=args.learning_rate, threshold_min=minimum)
    result = CVTArchive(**make)
    emitters = [
        EvolutionStrategyEmitter(archive, x0=np.full(args.dim, start), sigma0=args.sigma0, ranker="imp", es=args.es,
                                 es_kwargs=SETTINGS.get(args.es), selection_rule="mu", restart_rule="basic",
                                 batch_size=args.batch // args.emitters, seed=1000 * seed + i)
        for i in range(args.emitters)
    ]
    scheduler = Scheduler(archive, emitters, result_archive=result)
    began = time.perf_counter()
    scores = []
    for iteration in range(args.iterations + 1):
        scheduler.tell(*TASKS[args.task](scheduler.ask()))
        if iteration % args.every == 0:
            stats = result.stats
            scores.append(dict(generation=iteration, qd_score=float(stats.qd_score), coverage=100 * float(stats.coverage),
                               max_fitness=float(stats.obj_max)))
    restarts = sum(e.restarts for e in emitters)
    seconds = (time.perf_counter() - began) / args.iterations
    return dict(peer="pyribs", task=args.task, seed=seed, seconds=seconds, restarts=restarts, scores=scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    golden = commands.add_parser("golden")
    golden.add_argument("envs")
    golden.add_argument("repertoire")
    golden.add_argument("evolution")
    curves = commands.add_parser("curves")
    curves.add_argument("task", choices=TASKS)
    curves.add_argument("--centroids", required=True, help="a repertoire.npz of qdnb, whose cells are used")
    curves.add_argument("--seeds", type=int, default=10)
    curves.add_argument("--iterations", type=int, default=500)
    curves.add_argument("--every", type=int, default=50)
    curves.add_argument("--dim", type=int, default=100)
    curves.add_argument("--batch", type=int, default=540)
    curves.add_argument("--emitters", type=int, default=15)
    curves.add_argument("--sigma0", type=float, default=0.5)
    curves.add_argument("--learning-rate", type=float, default=0.01)
    curves.add_argument("--es", choices=("cma_es", "sep_cma_es", "lm_ma_es", "openai_es"), default="sep_cma_es")
    args = parser.parse_args()
    if args.command == "golden":
        golden_tasks(args.envs)
        np.savez_compressed(os.path.join(args.repertoire, "14_cma_mae_archive.npz"), **golden_archive())
        np.savez_compressed(os.path.join(args.evolution, "14_cma_mae_strategy.npz"), **golden_strategy())
        np.savez_compressed(os.path.join(args.evolution, "17_cma_mae_strategies.npz"), **golden_strategies())
        np.savez_compressed(os.path.join(args.evolution, "22_cma_es.npz"), **golden_dense())
        return
    for seed in range(args.seeds):
        print(json.dumps(curve(args, seed)), flush=True)


if __name__ == "__main__":
    main()
