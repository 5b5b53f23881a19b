"""Replays policies of a run on one of Gymnasium's tasks (`Hopper-v5` and so on) in Gymnasium, and compares whole
episodes with qdnb's.

    pip install -r gymnasium.txt
    python gymnasium_replay.py QDNB RUN [--policies 10] [--episodes 100]

Policies are spread over the fitnesses of the repertoire. Each plays episodes from random starts in both, and
Gymnasium solves constraints as its files ask for. Prints for each policy the means and standard deviations of
the returns, their difference in standard errors, and the p-value of a Kolmogorov-Smirnov test; then how many
policies differ more than one in twenty of equal ones does.
"""

import argparse
import json
import os
import subprocess

import gymnasium
import numpy as np


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


def returns(env, policy, episodes, steps):
    found = []
    for seed in range(episodes):
        x, total = env.reset(seed=seed)[0], 0.0
        for _ in range(steps):
            x, reward, terminated, _, _ = env.step(act(policy, x) * env.action_space.high)
            total += reward
            if terminated:
                break
        found.append(total)
    return np.array(found)


def kolmogorov_smirnov(x, y):
    """The asymptotic p-value that two samples are of one distribution."""
    both = np.sort(np.concatenate([x, y]))
    share = lambda z: np.searchsorted(np.sort(z), both, side="right") / len(z)
    n = np.sqrt(len(x) * len(y) / (len(x) + len(y)))
    d = np.abs(share(x) - share(y)).max() * (n + 0.12 + 0.11 / n)
    k = np.arange(1, 101)
    return 1.0 if d < 0.2 else float(np.clip(2 * np.sum((-1.0) ** (k - 1) * np.exp(-2 * (k * d) ** 2)), 0, 1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("qdnb", help="the binary")
    p.add_argument("run", help="folder of the run")
    p.add_argument("--policies", type=int, default=10)
    p.add_argument("--episodes", type=int, default=100)
    a = p.parse_args()
    with open(os.path.join(a.run, "config.json")) as f:
        config = json.load(f)
    task = "-".join(config["env"].split("-")[:2])  # without the descriptor
    env = gymnasium.make(task)
    sizes = [env.observation_space.shape[0], *config["hyperparameters"]["hidden"], env.action_space.shape[0]]
    repertoire = np.load(os.path.join(a.run, "repertoire.npz"))
    genotypes = dict(zip(repertoire["genotype_cells"], repertoire["genotypes"]))
    order = sorted(genotypes, key=lambda cell: repertoire["fitnesses"][cell])
    cells = [order[i] for i in np.linspace(0, len(order) - 1, a.policies).round().astype(int)]
    steps = config["hyperparameters"]["episode_length"]
    print(f"{task}: {a.policies} policies, {a.episodes} episodes each, of at most {steps} steps")
    print("    cell   qdnb              Gymnasium         difference   p")
    differences, ps = [], []
    for cell in cells:
        command = [a.qdnb, "eval", a.run, "--cell", str(cell), "--episodes", str(a.episodes), "--json"]
        played = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        ours = np.array(played["results"][0]["fitnesses"])
        theirs = returns(env, layers(genotypes[cell], sizes), a.episodes, played["steps"])
        spread = np.hypot(ours.std(ddof=1), theirs.std(ddof=1)) / np.sqrt(a.episodes)
        differences.append((ours.mean() - theirs.mean()) / max(spread, 1e-9))
        ps.append(kolmogorov_smirnov(ours, theirs))
        both = "   ".join(f"{x.mean():7.1f} ± {x.std(ddof=1):5.1f}" for x in (ours, theirs))
        print(f"    {cell:4d}   {both}   {differences[-1]:5.1f} s.e.   {ps[-1]:.2f}", flush=True)
    mean = np.sqrt(np.mean(np.square(differences)))
    print(f"  {sum(p < 0.05 for p in ps)} of {a.policies} policies have p < 0.05; the root mean square of the differences "
          f"is {mean:.2f} standard errors")


if __name__ == "__main__":
    main()
