"""Peer for CMA-MEGA and CMA-MAEGA: golden data and learning curves on sphere by pyribs.

    pip install ribs==0.12.0
    python cma_mega.py golden EVOLUTION   # the folder for 18_cma_mega.npz
    qdnb train --algorithm cma-mega --env sphere --seeds 0..9 --generations 500 --set cvt_samples=10000
    python cma_mega.py curves cma-mega --centroids REPERTOIRE.npz > mega.jsonl
    python compare.py mega.jsonl runs/cma-mega-sphere-*/metrics.csv

golden writes five steps of a GradientArborescenceEmitter on sphere, with gradient ascent and with Adam.
curves prints one JSON line per seed. Hyperparameters are those of pyribs' examples/sphere.py; parents are the better half (mu).
"""
import argparse
import json
import os
import time

import numpy as np

from cma_mae import LIMIT, SHIFT, TASKS


def gradients(x):
    """Gradients of fitness and descriptor of sphere, [k, 1 + 2, dim] (pyribs, examples/sphere.py)."""
    dim = x.shape[1]
    worst = dim * (LIMIT + SHIFT) ** 2
    fitness = -2 * (x - SHIFT) / worst * 100
    inside = np.where(np.abs(x) <= LIMIT, 1, -LIMIT / np.square(np.where(x == 0, 1, x)))
    first = np.arange(dim) < dim // 2
    return np.stack([fitness, inside * first, inside * ~first], axis=1)


def golden():
    from ribs.archives import GridArchive
    from ribs.emitters import GradientArborescenceEmitter

    dim, batch, out = 6, 10, {}
    for name, settings in (("ascent", dict(grad_opt="gradient_ascent", lr=0.7)), ("adam", dict(grad_opt="adam", lr=0.05))):
        archive = GridArchive(solution_dim=dim, dims=(20, 20), ranges=[(-15.36, 15.36)] * 2, learning_rate=0.1, threshold_min=0.0)
        emitter = GradientArborescenceEmitter(archive, x0=[-1, 0, 1.8, 3.2, 4.6, 6], sigma0=2.0,
                                              ranker="imp", selection_rule="mu", restart_rule="basic", batch_size=batch, seed=7, **settings)
        for step in range(6):
            es, opt = emitter._opt, emitter._grad_opt
            rows = dict(point=opt.theta, mean=es.mean, sigma=[es.sigma], covariance=es.cov.cov, path=es.pc, step_path=es.ps)
            if name == "adam":
                rows |= dict(first=opt._m, second=opt._v)
            if step < 5:
                point = emitter.ask_dqd()
                info = archive.add(point, *TASKS["sphere"](point))
                emitter.tell_dqd(point, *TASKS["sphere"](point), gradients(point), info)
                solutions = emitter.ask()
                found = TASKS["sphere"](solutions)
                info = archive.add(solutions, *found)
                rows |= dict(gradients=emitter._jacobian_batch, coefficients=es._solutions, solutions=solutions, value=info["value"])
            out.update({f"{name}.{key}_{step}": np.array(x, np.float32) for key, x in rows.items()})
            if step < 5:
                emitter.tell(solutions, *found, info)
    return out


def curve(args, seed):
    from ribs.archives import CVTArchive
    from ribs.emitters import GradientArborescenceEmitter
    from ribs.schedulers import Scheduler

    make = dict(solution_dim=args.dim, centroids=np.load(args.centroids)["centroids"].astype(np.float64), ranges=[(-1e9, 1e9)] * 2)
    annealed = args.method == "cma-maega"
    archive = CVTArchive(**make, learning_rate=0.01, threshold_min=0.0) if annealed else CVTArchive(**make)
    result = CVTArchive(**make) if annealed else None
    rules = dict(ranker="imp", restart_rule="basic") if annealed else dict(ranker="2imp", restart_rule="no_improvement")
    opt = dict(grad_opt="adam", lr=0.002) if args.adam else dict(grad_opt="gradient_ascent", lr=1.0)
    emitters = [
        GradientArborescenceEmitter(archive, x0=np.zeros(args.dim), sigma0=10.0, selection_rule="mu", batch_size=35,
                                    seed=1000 * seed + i, **rules, **opt)
        for i in range(15)
    ]
    scheduler = Scheduler(archive, emitters, result_archive=result)
    began, scores = time.perf_counter(), []
    for iteration in range(args.iterations + 1):
        points = scheduler.ask_dqd()
        scheduler.tell_dqd(*TASKS["sphere"](points), gradients(points))
        scheduler.tell(*TASKS["sphere"](scheduler.ask()))
        if iteration % args.every == 0:
            stats = scheduler.result_archive.stats
            scores.append(dict(generation=iteration, qd_score=float(stats.qd_score), coverage=100 * float(stats.coverage),
                               max_fitness=float(stats.obj_max)))
    seconds = (time.perf_counter() - began) / args.iterations
    return dict(peer="pyribs", seed=seed, seconds=seconds, restarts=sum(e.restarts for e in emitters), scores=scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("golden").add_argument("evolution")
    curves = commands.add_parser("curves")
    curves.add_argument("method", choices=("cma-mega", "cma-maega"))
    curves.add_argument("--centroids", required=True, help="a repertoire.npz of qdnb, whose cells are used")
    curves.add_argument("--adam", action="store_true")
    curves.add_argument("--seeds", type=int, default=10)
    curves.add_argument("--iterations", type=int, default=500)
    curves.add_argument("--every", type=int, default=50)
    curves.add_argument("--dim", type=int, default=100)
    args = parser.parse_args()
    if args.command == "golden":
        np.savez_compressed(os.path.join(args.evolution, "18_cma_mega.npz"), **golden())
        return
    for seed in range(args.seeds):
        print(json.dumps(curve(args, seed)), flush=True)


if __name__ == "__main__":
    main()
