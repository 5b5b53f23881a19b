"""Peer for Discount Model Search: golden data and learning curves on sphere by pyribs.

    pip install ribs==0.12.0 torch
    python dms.py golden REPERTOIRE   # the folder for 19_dms.npz
    qdnb train --algorithm dms --env sphere --seeds 0..9 --generations 500 --set strategy=sep-cma-es --set cvt_samples=10000
    python dms.py curves --centroids REPERTOIRE.npz > dms.jsonl
    python compare.py dms.jsonl runs/dms-sphere-*/metrics.csv

golden writes trainings of a DiscountArchive whose batch is the whole data, so that its order does not matter.
Hyperparameters of curves are those of pyribs' examples/sphere.py.
"""
import argparse
import json
import os
import time

import numpy as np
import torch

from cma_mae import TASKS

LIMITS = np.array([256.0, 256.0])  # of the descriptor of sphere in 100 dimensions


def make(centroids, dim, hidden, empty_points, **settings):
    from ribs.archives import CVTArchive, DiscountArchive
    from ribs.discount_models import MLP, DiscountModelManager

    model = MLP([[2, hidden], [hidden, hidden], [hidden, 1]], torch.nn.ReLU)
    manager = DiscountModelManager(model, torch.optim.Adam(model.parameters(), lr=0.001), torch.device("cpu"),
                                   normalize_measures="negative_one_one", normalize_discount="zero_one", measures_low=-LIMITS,
                                   measures_high=LIMITS, discount_low=0.0, discount_high=100.0, **settings)
    result = CVTArchive(solution_dim=dim, centroids=centroids, ranges=[(-1e9, 1e9)] * 2)
    archive = DiscountArchive(solution_dim=dim, measure_dim=2, learning_rate=0.1, threshold_min=0, discount_model_manager=manager,
                              result_archive=result, init_train_points=1000, empty_points=empty_points, seed=0)
    return archive, result


def golden():
    torch.manual_seed(0)
    rng, out = np.random.default_rng(0), {}
    centroids = rng.uniform(-LIMITS, LIMITS, (16, 2))
    archive, result = make(centroids, 1, 8, 5, train_epochs=2, train_cutoff_loss=0.0, train_batch_size=1000)
    for step in range(4):
        state = archive.discount_model_manager.model.state_dict()
        for layer in range(3):
            out[f"kernel{layer}_{step}"] = state[f"model.{2 * layer}.weight"].numpy().T.copy()
            out[f"bias{layer}_{step}"] = state[f"model.{2 * layer}.bias"].numpy().copy()
        fitness, measures = rng.uniform(-20, 90, 12), rng.uniform(-LIMITS, LIMITS, (12, 2))
        info = archive.add(np.zeros((12, 1)), fitness, measures)
        result.add(np.zeros((12, 1)), fitness, measures)
        trained = archive.train_discount_model()
        rows = dict(fitness=fitness, descriptors=measures, value=info["value"], targets=trained["solution_targets"],
                    empty=trained["empty_measures"])
        out.update({f"{key}_{step}": x for key, x in rows.items()})
    return {key: np.float32(x) for key, x in out.items()}


def curve(args, seed):
    from ribs.emitters import EvolutionStrategyEmitter
    from ribs.schedulers import Scheduler

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    centroids = np.load(args.centroids)["centroids"].astype(np.float64)
    archive, result = make(centroids, 100, 128, 100, train_epochs=5, train_cutoff_loss=0.05, train_batch_size=32)
    emitters = [
        EvolutionStrategyEmitter(result, x0=np.zeros(100), sigma0=0.5, ranker="imp", es="sep_cma_es", selection_rule="mu",
                                 restart_rule="basic", batch_size=36, seed=1000 * seed + i)
        for i in range(15)
    ]
    scheduler = Scheduler(archive, emitters, result_archive=result)
    archive.init_discount_model()
    began, scores = time.perf_counter(), []
    for iteration in range(args.iterations + 1):
        scheduler.tell(*TASKS["sphere"](scheduler.ask()))
        archive.train_discount_model()
        if iteration % args.every == 0:
            scores.append(dict(generation=iteration, qd_score=float(result.stats.qd_score),
                               coverage=100 * float(result.stats.coverage), max_fitness=float(result.stats.obj_max)))
    return dict(peer="pyribs", seed=seed, seconds=(time.perf_counter() - began) / args.iterations, scores=scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("golden").add_argument("repertoire")
    curves = commands.add_parser("curves")
    curves.add_argument("--centroids", required=True, help="a repertoire.npz of qdnb, whose cells are used")
    curves.add_argument("--seeds", type=int, default=10)
    curves.add_argument("--iterations", type=int, default=500)
    curves.add_argument("--every", type=int, default=50)
    args = parser.parse_args()
    if args.command == "golden":
        np.savez_compressed(os.path.join(args.repertoire, "19_dms.npz"), **golden())
        return
    for seed in range(args.seeds):
        print(json.dumps(curve(args, seed)), flush=True)


if __name__ == "__main__":
    main()
