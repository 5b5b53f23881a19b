"""Plays policies on Gymnasium's tasks (`Hopper-v5` and so on) in Gymnasium, too, and compares whole episodes.

    pip install -r gymnasium.txt
    python gymnasium_replay.py QDNB [TASK or RUN]... [--policies 10] [--episodes 100] [--runs DIR]

A task is one of six, by default all, for which qdnb trains a small run of MAP-Elites first; or give the folder of a
run. Policies are spread over the fitnesses of its repertoire, from random ones to the best. Each plays episodes from
random starts in both, and Gymnasium solves constraints as its files ask for. Prints for each policy the means and
standard deviations of the returns and the lengths, their differences in standard errors, and the p-value of a
Kolmogorov-Smirnov test of the returns; then a line of a table for each task. Fails if the root mean square of the
differences of a task is above 2 standard errors, which chance exceeds in 2 of 100 000 cases.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import gymnasium
import numpy as np

TASKS = "Ant-v5 HalfCheetah-v5 Hopper-v5 Humanoid-v5 Swimmer-v5 Walker2d-v5".split()
SETTINGS = "batch=64 cells=128 hidden=[16,16] iso_sigma=0.05 line_sigma=0.1".split()


def layers(row, sizes):
    """The layers of a genotype: kernel and bias of each."""
    all, at = [], 0
    for i, o in zip(sizes, sizes[1:]):
        all.append((row[at + o : at + (i + 1) * o].reshape(i, o), row[at : at + o]))
        at += (i + 1) * o
    return all


def act(policy, x):
    for kernel, bias in policy[:-1]:
        x = np.maximum(x @ kernel + bias, 0)
    kernel, bias = policy[-1]
    return np.tanh(x @ kernel + bias)


def play(task, policy, first, episodes, steps):
    """The returns and the lengths of episodes in Gymnasium, of which each has its own seed from the first on."""
    env = gymnasium.make(task, disable_env_checker=True)
    found = np.zeros((2, episodes))
    for episode in range(episodes):
        x, terminated = env.reset(seed=first + episode)[0], False
        while not terminated and found[1, episode] < steps:
            x, reward, terminated, _, _ = env.step(act(policy, x) * env.action_space.high)
            found[:, episode] += reward, 1
    return found


def kolmogorov_smirnov(x, y):
    """The asymptotic p-value that two samples are of one distribution."""
    both = np.sort(np.concatenate([x, y]))
    share = lambda z: np.searchsorted(np.sort(z), both, side="right") / len(z)
    n = np.sqrt(len(x) * len(y) / (len(x) + len(y)))
    d = np.abs(share(x) - share(y)).max() * (n + 0.12 + 0.11 / n)
    k = np.arange(1, 101)
    return 1.0 if d < 0.2 else float(np.clip(2 * np.sum((-1.0) ** (k - 1) * np.exp(-2 * (k * d) ** 2)), 0, 1))


def errors(x, y):
    """The difference of the means of two samples, in standard errors."""
    spread = np.hypot(x.std(ddof=1), y.std(ddof=1)) / np.sqrt(len(x))
    return (x.mean() - y.mean()) / max(spread, 1e-6)


def compare(qdnb, run, policies, episodes):
    """Plays policies of a run in both; prints them, and returns the row of a table."""
    with open(os.path.join(run, "config.json")) as f:
        config = json.load(f)
    task = "-".join(config["env"].split("-")[:2])  # without the descriptor
    env = gymnasium.make(task)
    sizes = [env.observation_space.shape[0], *config["hyperparameters"]["hidden"], env.action_space.shape[0]]
    repertoire = np.load(os.path.join(run, "repertoire.npz"))
    genotypes = dict(zip(repertoire["genotype_cells"], repertoire["genotypes"]))
    order = sorted(genotypes, key=lambda cell: repertoire["fitnesses"][cell])
    cells = [order[i] for i in np.linspace(0, len(order) - 1, policies).round().astype(int)]
    steps = config["hyperparameters"]["episode_length"]
    print(f"{task}: {policies} policies, {episodes} episodes each, of at most {steps} steps")
    print("    cell   return: qdnb       Gymnasium          s.e.      p   length: qdnb      Gymnasium       s.e.")
    z, ps, means = [], [], []
    with ProcessPoolExecutor() as pool:
        peer = pool.map(
            play,
            [task] * policies,
            [layers(genotypes[cell], sizes) for cell in cells],
            range(0, episodes * policies, episodes),
            [episodes] * policies,
            [steps] * policies,
        )
        for k, (cell, theirs) in enumerate(zip(cells, peer)):
            # A seed of each policy: with the same starts, differences of policies would not be independent.
            played = answer(qdnb, "eval", run, "--cell", cell, "--episodes", episodes, "--seed", k)["results"][0]
            ours = np.array([played["fitnesses"], played["lengths"]], float)
            z.append([errors(x, y) for x, y in zip(ours, theirs)])
            ps.append(kolmogorov_smirnov(ours[0], theirs[0]))
            means.append([ours.mean(1), theirs.mean(1)])
            text = [[f"{y.mean():7.1f} ± {y.std(ddof=1):6.1f}" for y in (ours[i], theirs[i])] for i in (0, 1)]
            print(
                f"    {cell:4d}   {'   '.join(text[0])}   {z[-1][0]:5.1f}   {ps[-1]:.2f}   "
                f"{'   '.join(text[1])}   {z[-1][1]:5.1f}",
                flush=True,
            )
    low, high = np.min(means, 0)[0], np.max(means, 0)[0]
    rms = np.sqrt(np.mean(np.square(z), 0))
    row = (
        f"| `{task}` | {low[0]:.0f} to {high[0]:.0f} | {low[1]:.0f} to {high[1]:.0f} | {rms[0]:.1f} | {rms[1]:.1f} | "
        f"{sum(p < 0.05 for p in ps)} |"
    )
    return row.replace(" -", " −"), rms.max() <= 2


def answer(qdnb, *command):
    """What a command of qdnb prints as JSON. It shows its progress."""
    command = [qdnb, *map(str, command), "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("qdnb", help="the binary")
    p.add_argument("tasks", nargs="*", default=TASKS, help="names of tasks, or folders of runs")
    p.add_argument("--policies", type=int, default=10)
    p.add_argument("--episodes", type=int, default=100)
    p.add_argument("--generations", type=int, default=20)
    p.add_argument("--runs", default="build/replay", help="folder of the runs that are trained")
    a = p.parse_intermixed_args()
    rows, equal = [], True
    for run in a.tasks:
        if not os.path.isdir(run):
            settings = [word for setting in SETTINGS for word in ("--set", setting)]
            command = ["train", "--algorithm", "map-elites", "--env", run, "--generations", a.generations]
            run = answer(a.qdnb, *command, "--runs", a.runs, *settings)["run"]
        row, same = compare(a.qdnb, run, a.policies, a.episodes)
        rows.append(row)
        equal = equal and same
    print("\n| task | mean return | mean length | return, s.e. | length, s.e. | p < 0.05 |\n|---|---|---|---|---|---|")
    print("\n".join(rows))
    if not equal:
        sys.exit("the engines differ by more than chance: see the policies above")


if __name__ == "__main__":
    main()
