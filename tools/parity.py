"""Trains the same small configurations here and by the published JAX code, for a comparison of distributions.

    git clone https://github.com/instadeepai/qd-skill-discovery-benchmark BENCHMARK
    git clone -b qdbenchmark https://github.com/adaptive-intelligent-robotics/QDax QDAX
    tools/setup peer parity
    python tools/parity.py --benchmark BENCHMARK --qdax QDAX [--algorithms map-elites] build/qdnb docs/parity.csv

Each row of the table is one seed on one side: algorithm, side, seed, environment steps, QD score, coverage, max fitness, processor
seconds. The side is qdnb, published, or a fault planted in qdnb. Rows that exist are not trained again, so an interrupted call is
rerun to resume. `go run ./internal/docfigures parity.png` draws the table; what is decided and how was fixed before any run: see
docs/reliability.md.
"""
import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ENV = "pointmaze"
COLUMNS = ["algorithm", "side", "seed", "env_steps", "qd_score", "coverage", "max_fitness", "cpu_s"]

# What both sides share. Theirs are overrides of the published scripts' configurations, ours of the paper's settings.
REPERTOIRE = (["num_centroids=128", "num_init_cvt_samples=5000"], ["cells=128", "cvt_samples=5000"])
EVOLUTION = (["episode_length=100", "policy_hidden_layer_sizes=[16,16]"], ["episode_length=100", "hidden=16,16"])
SKILLS = (
    ["episode_length=100", "hidden_layer_sizes=[32,32]", "env_batch_size=50", "batch_size=64", "buffer_size=20000", "time_limit=null",
     "num_steps=20000", "logging.log_period=5000", "logging.metrics_subsample=100"],
    ["episode_length=100", "hidden=32,32", "diversity_hidden=32,32", "env_batch_size=50", "batch_size=64", "replay_buffer_size=20000",
     "evaluation_interval=5000", "early_interval=0", "evaluation_states=10"],
)


class Method:
    """An algorithm on both sides: the published script, its overrides, our settings, and our budget."""

    def __init__(self, script, shared, theirs, ours, budget, faults):
        self.script, self.faults = script, faults
        self.theirs = REPERTOIRE[0] + shared[0] + theirs
        self.ours = REPERTOIRE[1] + shared[1] + ours
        self.budget = budget


DISCOUNT = {"discount-0.95": ["discount=0.95"]}
METHODS = {
    "map-elites": Method(
        "train_map_elites", EVOLUTION,
        ["batch_size=64", "num_iterations=100", "logging.log_period=50", "logging.save_checkpoints_period=100000"],
        ["batch=64"], ["--generations", "100"],
        {"sigma-1.3": ["iso_sigma=0.0065", "line_sigma=0.065"]}),
    # their threshold aims at 1024 individuals, whatever the size of the archive
    "aurora": Method(
        "train_aurora", EVOLUTION,
        ["num_centroids=1024", "passive_num_centroids=128", "batch_size=64", "num_iterations=100", "time_limit=null",
         "logging.log_period=10", "logging.save_checkpoints_period=100000"],
        ["batch=64"], ["--generations", "100"],
        {"sigma-1.3": ["iso_sigma=0.0065", "line_sigma=0.065"]}),
    "pga-map-elites": Method(
        "train_pga_me", EVOLUTION,
        ["env_batch_size=32", "num_iterations=20", "buffer_size=50000", "batch_size=64", "critic_hidden_layer_sizes=[32,32]",
         "num_critic_training_steps=100", "num_pg_training_steps=20", "logging.log_period=10", "logging.metrics_subsample=1",
         "logging.save_checkpoints_period=100000"],
        ["batch=32", "replay_buffer_size=50000", "transitions_batch_size=64", "critic_hidden=32,32", "num_critic_training_steps=100",
         "num_pg_training_steps=20"], ["--generations", "20"],
        DISCOUNT | {"frozen-target": ["soft_tau_update=1e-9"]}),
    "diayn-reward": Method("train_diayn_reward", SKILLS, [], [], ["--env-steps", "20000"],
                           DISCOUNT | {"frozen-target": ["tau=1e-9"]}),
    "dads-reward": Method("train_dads_reward", SKILLS, [], [], ["--env-steps", "20000"],
                          DISCOUNT | {"frozen-target": ["tau=1e-9"]}),
    "smerl-diayn": Method("train_diayn_smerl", SKILLS, ["smerl_target=-70", "smerl_margin=7"],
                          ["smerl_target=-70", "smerl_margin=7"], ["--env-steps", "20000"],
                          DISCOUNT | {"frozen-target": ["tau=1e-9"]}),
}

# The published code was written for JAX 0.3 and Python 3.8. On newer ones: QDax imports jumanji for the names of two types only, two
# names of JAX are gone, and Brax no longer notices that it is being compiled.
STUBS = {
    "jumanji.py": """from types import SimpleNamespace
types = SimpleNamespace(TimeStep=object, Observation=object)
env = SimpleNamespace(State=object, Environment=object)
""",
    "sitecustomize.py": """import jax
jax.tree_multimap = jax.tree_util.tree_map
import brax.jumpy
brax.jumpy._in_jit = lambda: not jax.core.trace_state_clean()
""",
}


def measured(command, **options):
    """Runs a command and returns the processor seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def published(args, method, seed, folder):
    stubs = Path(folder, "stubs")
    stubs.mkdir()
    for name, text in STUBS.items():
        (stubs / name).write_text(text)
    path = os.pathsep.join([str(Path(args.benchmark).resolve()), str(Path(args.qdax).resolve()), str(stubs)])
    out = Path(folder, "out")
    seconds = measured(
        [args.python, "-m", f"qdbenchmark.training.{method.script}", f"env_name={ENV}", f"seed={seed}", f"hydra.run.dir={out}",
         *{override.split("=")[0]: override for override in method.theirs}.values()],
        env=os.environ | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "MPLBACKEND": "agg"}, cwd=args.benchmark)
    last = {}
    with open(out / "metrics.csv") as f:
        for row in csv.DictReader(f):
            last[row["metric_name"]] = float(row["value"])
    steps = last["num_steps"] if "num_steps" in last else last["environment_steps"]
    return last | {"env_steps": int(steps), "cpu_s": seconds}


def ours(args, algorithm, method, seed, folder, fault=()):
    settings = {}
    for setting in [*method.ours, f"cvt_seed={seed}", *fault]:
        settings[setting.split("=")[0]] = setting
    command = [args.qdnb, "train", "--algorithm", algorithm, "--env", ENV, "--seed", str(seed), "--runs", folder, "--quiet", *method.budget]
    for setting in settings.values():
        command += ["--set", setting]
    seconds = measured(command)
    with open(next(Path(folder).glob("*/metrics.csv"))) as f:
        *_, last = csv.DictReader(f)
    status = json.loads(next(Path(folder).glob("*/status.json")).read_text())
    return {"env_steps": status["env_steps"], "cpu_s": seconds} | {name: float(last[name]) for name in ("qd_score", "coverage", "max_fitness")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", help="checkout of qd-skill-discovery-benchmark; without it, only qdnb is trained")
    parser.add_argument("--qdax", help="checkout of QDax's branch qdbenchmark")
    parser.add_argument("--python", default=".tools/peer-parity/bin/python", help="Python with the published code's requirements")
    parser.add_argument("--algorithms", default=",".join(METHODS), help="names, separated by commas")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of each side, from 0")
    parser.add_argument("--faults", action="store_true", help="also train qdnb with planted faults")
    parser.add_argument("qdnb", help="the program")
    parser.add_argument("table", help="the CSV file that rows are added to")
    args = parser.parse_args()
    table = Path(args.table)
    known = set()
    if table.exists():
        with open(table) as f:
            known = {(row["algorithm"], row["side"], row["seed"]) for row in csv.DictReader(f)}
    else:
        table.write_text(",".join(COLUMNS) + "\n")
    for algorithm in args.algorithms.split(","):
        if algorithm not in METHODS:
            parser.error(f"{algorithm} is none of {', '.join(METHODS)}")
        method = METHODS[algorithm]
        for seed in range(args.seeds):
            sides = {"qdnb": lambda folder: ours(args, algorithm, method, seed, folder)}
            if args.benchmark:
                sides["published"] = lambda folder: published(args, method, seed, folder)
            if args.faults:
                for name, fault in method.faults.items():
                    sides[name] = lambda folder, fault=fault: ours(args, algorithm, method, seed, folder, fault)
            for side, train in sides.items():
                if (algorithm, side, str(seed)) in known:
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    row = {"algorithm": algorithm, "side": side, "seed": seed} | train(folder)
                text = [f"{row[c]:.6g}" if isinstance(row[c], float) else str(row[c]) for c in COLUMNS]
                with open(table, "a") as f:
                    f.write(",".join(text) + "\n")
                print(" ".join(text), flush=True)


if __name__ == "__main__":
    main()
