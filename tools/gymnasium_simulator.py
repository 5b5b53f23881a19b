#!/usr/bin/env python3
"""A simulator for `qdnb train --simulator`: its genotypes are policies of a Gymnasium environment.

    qdnb train --algorithm map-elites --set 'hidden=[16]' --simulator \\
        'python3 tools/gymnasium_simulator.py Pendulum-v1 --hidden 16 --descriptor 0 1 --offset 17'

The fitness is the return, the descriptor the mean of components of the observation, both over all
episodes. Episodes have fixed seeds, so that results are a function of the genotype. Outputs of a
policy, in [-1, 1], are scaled to the limits of continuous actions; of discrete ones the greatest is taken.
The protocol is that of envs.StartProcess: another simulator replaces `Episodes`."""

import argparse
import array
import base64
import json
import math
import multiprocessing
import os
import sys

try:
    from numpy import array as matrix, dot
except ImportError:  # slow, for tests
    matrix = list

    def dot(x, kernel):
        return [sum(a * row[i] for a, row in zip(x, kernel)) for i in range(len(kernel[0]))]


def layers(sizes, row):
    """Cuts a genotype into layers, each a bias [out] and a kernel [in][out]."""
    if len(row) != sum((n + 1) * m for n, m in zip(sizes, sizes[1:])):
        raise ValueError(f"a genotype has {len(row)} parameters, which policies of layers {sizes} do not have: "
                         "give --hidden the layers of --set hidden")
    policy, at = [], 0
    for n, m in zip(sizes, sizes[1:]):
        kernel = matrix([row[at + m * (i + 1):at + m * (i + 2)] for i in range(n)])
        policy.append((row[at:at + m], kernel))
        at += (n + 1) * m
    return policy


def act(policy, x):
    """Applies a policy: ReLU after hidden layers, tanh after the last."""
    for bias, kernel in policy:
        if kernel is not policy[0][1]:
            x = [max(v, 0.0) for v in x]
        x = [float(v + b) for v, b in zip(dot(x, kernel), bias)]
    return [math.tanh(v) for v in x]


class Episodes:
    """Evaluates genotypes in an environment of its own."""

    def __init__(self, args):
        import gymnasium
        self.args, self.env = args, gymnasium.make(args.env)
        self.discrete = hasattr(self.env.action_space, "n")
        outputs = self.env.action_space.n if self.discrete else self.env.action_space.shape[0]
        self.sizes = [self.env.observation_space.shape[0], *args.hidden, int(outputs)]
        self.length = args.length or self.env.spec.max_episode_steps

    def facts(self):
        """The constants of the task. Lower and upper limits default to those of observations."""
        box, chosen = self.env.observation_space, self.args.descriptor
        lower = self.args.lower or [float(box.low[i]) for i in chosen]
        upper = self.args.upper or [float(box.high[i]) for i in chosen]
        if any(abs(x) > 1e6 for x in lower + upper):
            raise ValueError("the observations have no limits: give --lower and --upper")
        return {"name": self.args.env.replace("/", "-"), "observations": self.sizes[0], "actions": self.sizes[-1],
                "length": self.length, "offset": self.args.offset,
                "descriptor": {"components": [f"mean of observation {i}" for i in chosen], "lower": lower, "upper": upper}}

    def action(self, out):
        if self.discrete:
            return out.index(max(out))
        box = self.env.action_space
        return [lo + (hi - lo) * (x + 1) / 2 for x, lo, hi in zip(out, box.low, box.high)]

    def __call__(self, row):
        policy, total, seen = layers(self.sizes, row), 0.0, []
        for seed in range(self.args.episodes):
            x, _ = self.env.reset(seed=seed)
            for _ in range(self.length):
                seen.append([float(x[i]) for i in self.args.descriptor])
                x, reward, terminated, truncated, _ = self.env.step(self.action(act(policy, x)))
                total += float(reward)
                if terminated or truncated:
                    break
        return total / self.args.episodes, [sum(column) / len(seen) for column in zip(*seen)]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env")
    parser.add_argument("--hidden", type=int, nargs="*", default=[256, 256], help="as in --set hidden")
    parser.add_argument("--descriptor", type=int, nargs="+", default=[0], help="components of the observation")
    parser.add_argument("--lower", type=float, nargs="+")
    parser.add_argument("--upper", type=float, nargs="+")
    parser.add_argument("--offset", type=float, default=0.0, help="minus the lowest reward of a step")
    parser.add_argument("--episodes", type=int, default=1)
    parser.add_argument("--length", type=int, help="steps of an episode (default: the environment's limit)")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    return parser.parse_args()


def in_worker(row):
    return in_worker.episodes(row)


def start(args):
    in_worker.episodes = Episodes(args)


def floats(numbers):
    return base64.b64encode(array.array("f", numbers)).decode()


def main():
    args = parse()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints must not disturb the protocol
    start(args)
    print(json.dumps(in_worker.episodes.facts()), file=out, flush=True)
    pool = multiprocessing.Pool(args.processes, start, [args]) if args.processes > 1 else None
    for line in sys.stdin:
        request = json.loads(line)
        flat = array.array("f", base64.b64decode(request["genotypes"]))
        n = len(flat) // request["count"]
        rows = [flat[i:i + n].tolist() for i in range(0, len(flat), n)]
        try:
            results = list(pool.map(in_worker, rows) if pool else map(in_worker, rows))
            answer = {"fitness": floats(r[0] for r in results), "descriptors": floats(x for r in results for x in r[1])}
        except ValueError as err:
            answer = {"error": str(err)}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    try:
        main()
    except (ImportError, ValueError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")
