"""Peer for the speed of rollouts in another simulator: MuJoCo's robots, stepped by EnvPool or mjbatch, with
other physics than Brax's, and the same as Gymnasium's tasks.

    pip install -r mujoco.txt
    python mujoco_rollout.py walker-uni --simulator envpool [--hidden 256]

Steps `batch` environments `steps` times: without policies, with the same random actions at each step, or,
with --hidden, each with its own policy of two hidden layers in numpy. Episodes do not end. mjbatch runs a
slice of --chunk environments per thread to its end, so that their policies stay in the cache; EnvPool steps
all environments at once. Prints one JSON line: the best of the repeats.
"""

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the threads of this script have a policy each

import gymnasium
import numpy as np

# By environment: the robot's name in EnvPool, its model in Gymnasium, physics steps per control step,
# and the coordinates hidden from policies.
ROBOTS = {
    "ant-uni": ("Ant-v5", "ant.xml", 5, 2),
    "halfcheetah-uni": ("HalfCheetah-v5", "half_cheetah.xml", 5, 1),
    "walker-uni": ("Walker2d-v5", "walker2d_v5.xml", 4, 1),
}
ROBOTS |= {robot[0]: robot for robot in ROBOTS.values()} | {
    "Hopper-v5": ("Hopper-v5", "hopper.xml", 4, 1),
    "Humanoid-v5": ("Humanoid-v5", "humanoid.xml", 5, 2),
    "Swimmer-v5": ("Swimmer-v5", "swimmer.xml", 4, 2),
}


def widths(inputs, hidden, outputs):
    return [inputs, hidden, hidden, outputs]


def unflatten(genotypes, sizes):
    """Views of the rows of genotypes as layers: kernels [n, in, out] and biases [n, out]."""
    layers, at = [], 0
    for i, o in zip(sizes, sizes[1:]):
        layers.append(
            (genotypes[:, at : at + i * o].reshape(-1, i, o), genotypes[:, at + i * o : at + (i + 1) * o])
        )
        at += (i + 1) * o
    return layers


def count(sizes):
    return sum((i + 1) * o for i, o in zip(sizes, sizes[1:]))


def act(layers, x):
    for kernel, bias in layers[:-1]:
        x = np.maximum(np.vecmat(x, kernel) + bias, 0)
    kernel, bias = layers[-1]
    return np.tanh(np.vecmat(x, kernel) + bias)


class Slice:
    """Environments of mjbatch that one thread steps together."""

    def __init__(self, env, size):
        import mjbatch
        import mujoco

        _, xml, self.skip, self.hidden = ROBOTS[env]
        assets = os.path.join(os.path.dirname(gymnasium.__file__), "envs", "mujoco", "assets")
        self.model = mujoco.MjModel.from_xml_path(os.path.join(assets, xml))
        self.batch = mjbatch.Batch(self.model, size, num_threads=1)
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self.obs_size, self.random = (
            self.qpos.shape[1] - self.hidden + self.qvel.shape[1],
            np.random.default_rng(0),
        )
        self.ctrl[:] = self.random.uniform(-1, 1, self.ctrl.shape)

    def reset(self):
        self.batch.reset()
        self.qpos[:] += self.random.uniform(-0.005, 0.005, self.qpos.shape)

    def observe(self):
        return np.concatenate([self.qpos[:, self.hidden :], self.qvel], 1, dtype=np.float32)

    def step(self, layers):
        if layers:
            self.ctrl[:] = act(layers, self.observe())
        self.batch.step(nstep=self.skip)

    def run(self, layers, steps):
        self.reset()
        for _ in range(steps):
            self.step(layers)


def mjbatch_runner(a, pool):
    chunk = a.chunk or -(-a.batch // a.threads)
    workers = [Slice(a.env, chunk) for _ in range(a.threads)]
    sizes = widths(workers[0].obs_size, a.hidden, workers[0].ctrl.shape[1])
    genotypes = (
        np.random.default_rng(1).normal(0, 0.05, (a.batch, count(sizes))).astype(np.float32)
        if a.hidden
        else None
    )

    def work(i, steps):
        for start in range(i * chunk, a.batch, a.threads * chunk):
            workers[i].run(a.hidden and unflatten(genotypes[start : start + chunk], sizes), steps)

    return lambda steps: list(pool.map(lambda i: work(i, steps), range(a.threads)))


def envpool_runner(a, pool):
    import envpool

    envs = envpool.make_gymnasium(
        ROBOTS[a.env][0],
        num_envs=a.batch,
        num_threads=a.threads,
        max_episode_steps=1 << 30,
        **({} if ROBOTS[a.env][0] in ("HalfCheetah-v5", "Swimmer-v5") else {"terminate_when_unhealthy": False}),
    )
    random = np.random.default_rng(1)
    obs, outputs = envs.reset()[0], envs.action_space.shape[0]
    sizes = widths(obs.shape[1], a.hidden, outputs)
    actions = random.uniform(-1, 1, (a.batch, outputs))
    halves = np.array_split(np.arange(a.batch), a.threads)
    layers = (
        [unflatten(random.normal(0, 0.05, (len(h), count(sizes))).astype(np.float32), sizes) for h in halves]
        if a.hidden
        else []
    )

    def run(steps):
        obs, actions = envs.reset()[0], random.uniform(-1, 1, (a.batch, outputs))
        for _ in range(steps):
            if layers:
                x = obs.astype(np.float32)
                actions = np.concatenate(
                    list(pool.map(lambda i: act(layers[i], x[halves[i]]), range(a.threads)))
                ).astype(np.float64)
            obs = envs.step(actions)[0]

    return run


def main():
    p = argparse.ArgumentParser()
    p.add_argument("env", choices=ROBOTS)
    p.add_argument("--simulator", choices=["envpool", "mjbatch"], required=True)
    p.add_argument("--hidden", type=int, default=0, help="units of each hidden layer; 0: no policies")
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument(
        "--chunk",
        type=int,
        default=0,
        help="environments of mjbatch that a thread steps together; 0: its share",
    )
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--repeats", type=int, default=1)
    a = p.parse_args()
    with ThreadPoolExecutor(a.threads) as pool:
        run = {"envpool": envpool_runner, "mjbatch": mjbatch_runner}[a.simulator](a, pool)
        run(5)
        seconds = []
        for _ in range(a.repeats):
            start = time.perf_counter()
            run(a.steps)
            seconds.append(time.perf_counter() - start)
    print(
        json.dumps(
            {
                "peer": f"{a.simulator} {version(a.simulator)}",
                "env": a.env,
                "batch": a.batch,
                "steps": a.steps,
                "threads": a.threads,
                "hidden": a.hidden,
                "best_s": round(min(seconds), 4),
                "env_steps_per_s": round(a.batch * a.steps / min(seconds)),
            }
        )
    )


if __name__ == "__main__":
    main()
