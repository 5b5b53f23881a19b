"""golden_gymnasium.py OUT [SAMPLES [NAME ...]]: gymnasium_NAME.npz: steps of Gymnasium's MuJoCo tasks, version 5.

Needs gymnasium and mujoco (of envs/mujoco.Version). Of each task SAMPLES states (1000 by default) on the way of
random actions, each followed by two steps under random actions. Constraints are solved to convergence, to the
last digit. States and actions are exact float32 numbers; actions are from -1 to 1 for the whole control range.

    qpos, qvel      the states
    actions         [SAMPLES, 2, n]
    observations    [SAMPLES, 2, n], rewards and terminated [SAMPLES, 2]: after each step
    noise           [SAMPLES, 2, parts]: the largest relative change of each part of an observation, and of the
                    reward, when the numbers of the state move by 6e-8 of themselves, or positions by 6e-8, which
                    is how float32 rounds places some 0.5 m from the origin (three draws each)
    parts           the sizes of the parts: positions, velocities, and what follows them
"""
import sys

import gymnasium
import mujoco
import numpy as np

TASKS = {"Ant-v5": [78], "HalfCheetah-v5": [], "Hopper-v5": [], "Humanoid-v5": [130, 78, 17, 78], "Swimmer-v5": [],
         "Walker2d-v5": []}
single = lambda x: np.asarray(x, np.float32).astype(np.float64)


def steps(env, qpos, qvel, actions):
    env.reset()
    env.unwrapped.set_state(qpos, qvel)
    high = env.action_space.high
    return [env.step(a * high)[:3] for a in actions]


def error(one, other, cuts):
    """Of each part of an observation and of the reward, relative to its norm."""
    (x, r, _), (y, s, _) = one, other
    parts = list(zip(np.split(x, cuts), np.split(y, cuts)))
    return [np.linalg.norm(a - b) / max(1, np.linalg.norm(a)) for a, b in parts] + [abs(r - s) / max(1, abs(r))]


def samples(name, n):
    env = gymnasium.make(name)
    m, d, rng, other = env.unwrapped.model, env.unwrapped.data, np.random.default_rng(0), np.random.default_rng(1)
    m.opt.solver, m.opt.iterations, m.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 300, 1e-30
    m.opt.ls_iterations = 300
    seen = env.observation_space.shape[0] - m.nv - sum(TASKS[name])
    parts = [seen, m.nv, *TASKS[name]]
    cuts = np.cumsum(parts)[:-1]
    states = []
    while len(states) < n:  # one state of each stretch of up to 40 steps
        env.reset(seed=len(states))
        for _ in range(rng.integers(40)):
            if env.step(env.action_space.high * rng.uniform(-1, 1, env.action_space.shape))[2]:
                break
        states.append((single(d.qpos), single(d.qvel)))
    out = {k: [] for k in ("qpos", "qvel", "actions", "observations", "rewards", "terminated", "noise")}
    for qpos, qvel in states:
        actions = single(rng.uniform(-1, 1, (2, *env.action_space.shape)))
        found = steps(env, qpos, qvel, actions)
        twins = [steps(env, *(x * (1 + 6e-8 * rng.uniform(-1, 1, x.shape)) for x in (qpos, qvel)), actions) for _ in range(3)]
        twins += [steps(env, qpos + 6e-8 * other.uniform(-1, 1, qpos.shape), qvel, actions) for _ in range(3)]
        out["noise"].append([np.max([error(found[i], twin[i], cuts) for twin in twins], axis=0) for i in range(2)])
        for k, x in (("qpos", qpos), ("qvel", qvel), ("actions", actions)):
            out[k].append(x)
        for k, i in (("observations", 0), ("rewards", 1), ("terminated", 2)):
            out[k].append([f[i] for f in found])
    return {k: np.array(v, np.float32) for k, v in out.items()} | {"parts": np.array(parts, np.int32)}


for name in sys.argv[3:] or TASKS:
    np.savez_compressed(f"{sys.argv[1]}/gymnasium_{name}.npz", **samples(name, int((sys.argv[2:] or [1000])[0])))
