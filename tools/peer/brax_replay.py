"""Replays policies of a run of neuroevolution in the paper's simulator, Brax 0.0.12, and compares whole episodes
with qdnb's.

    pip install -r brax.txt
    python brax_replay.py QDNB RUN [--policies 64] [--episodes 192]

Both simulators play the policies of the same cells of the repertoire, with random initial states of their
own. Fitness is the sum of rewards until the episode ends, the descriptor the share of states in which each
foot touched the ground during the step before or the torso's last position, both means over the episodes.
Prints the means over policies, the mean differences with their standard errors, and the correlations over
policies.
"""

import argparse
import json
import os
import subprocess
import tempfile

from brax_rollout import ENVS, policy

import jax
import jax.numpy as jnp
import numpy as np

FEET = {
    "ant-uni": ["$ Body 4", "$ Body 7", "$ Body 10", "$ Body 13"],
    "halfcheetah-uni": ["ffoot", "bfoot"],
    "walker-uni": ["foot", "foot_left"],
}
FEET["ant-trap"] = FEET["ant-maze"] = FEET["ant-uni"]
POSITION = "ant-trap", "ant-maze"  # the descriptor is where the torso ends


def unflatten(genotype, sizes):
    """The layers of a genotype: bias and kernel of each."""
    layers, at = [], 0
    for i, o in zip(sizes, sizes[1:]):
        layers.append((genotype[at + o : at + (i + 1) * o].reshape(i, o), genotype[at : at + o]))
        at += (i + 1) * o
    return layers


def rollouts(env, sizes, steps, feet, position):
    """A function of a genotype and a key: fitness and descriptor of an episode, and the contacts of its reset state."""
    seen, step_system = [], env.sys.step

    def step_and_see(qp, action):  # tasks drop the contacts, as in QDax, whose QDSystem keeps them
        qp, info = step_system(qp, action)
        seen.append(info)
        return qp, info

    env.sys.step = step_and_see

    def touching(info):
        return jnp.any(info.contact.vel[feet], axis=1)

    def rollout(genotype, key):
        def step(carry, _):
            state, touches, at, alive = carry
            after = env.step(state, policy(unflatten(genotype, sizes), state.obs))
            at = jnp.where(alive > 0, after.qp.pos[0, :2], at)
            return (after, touching(seen.pop()), at, alive * (1 - after.done)), (
                alive,
                alive * after.reward,
                alive * touches,
            )

        start = env.reset(key)
        first = touching(env.sys.info(start.qp))
        carry = start, first, start.qp.pos[0, :2], 1.0
        (_, _, at, _), (alive, rewards, touches) = jax.lax.scan(step, carry, None, length=steps)
        return rewards.sum(), at if position else touches.sum(0) / alive.sum(), first

    return rollout


def main():
    p = argparse.ArgumentParser()
    p.add_argument("qdnb", help="the binary")
    p.add_argument("run", help="folder of the run")
    p.add_argument("--policies", type=int, default=64)
    p.add_argument("--episodes", type=int, default=192)
    a = p.parse_args()
    with open(os.path.join(a.run, "config.json")) as f:
        config = json.load(f)
    if config["env"] not in FEET:
        p.error(f"{config['env']} is not one of {', '.join(FEET)}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "repertoire.npz")
        subprocess.run(
            [a.qdnb, "export", a.run, "--repertoire", "--out", path], check=True, stdout=subprocess.DEVNULL
        )
        genotypes = np.load(path)["genotypes"]
    command = [a.qdnb, "eval", a.run, "--corrected", "--episodes", str(a.episodes), "--json"]
    played = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    chosen = [
        played["results"][i]
        for i in np.linspace(0, len(played["results"]) - 1, a.policies).round().astype(int)
    ]
    ours = np.array([[c["fitness_mean"], *c["descriptor_mean"]] for c in chosen])

    env = ENVS[config["env"]]()
    feet = jnp.array([env.sys.body.index[name] for name in FEET[config["env"]]])
    sizes = [env.observation_size, *config["hyperparameters"]["hidden"], env.action_size]
    position = config["env"] in POSITION
    rollout = rollouts(env, sizes, played["steps"], feet, position)
    keys = jax.random.split(jax.random.PRNGKey(0), a.policies * a.episodes).reshape(a.policies, a.episodes, 2)
    run = jax.jit(jax.vmap(jax.vmap(rollout, (None, 0))))
    fitness, descriptors, first = run(jnp.array(genotypes[[c["cell"] for c in chosen]]), keys)
    theirs = np.concatenate([fitness.mean(1)[:, None], descriptors.mean(1)], 1)

    names = ["fitness"] + (["x", "y"] if position else [f"contact of {name}" for name in FEET[config["env"]]])
    print(
        f"{config['env']}: {a.policies} policies, {a.episodes} episodes each; "
        "qdnb, brax 0.0.12, difference and its standard error, correlation"
    )
    for name, x, y in zip(names, ours.T, theirs.T):
        d = x - y
        print(
            f"  {name:24} {x.mean():9.4g} {y.mean():9.4g} {d.mean():9.3g} "
            f"+- {d.std(ddof=1) / len(d) ** 0.5:.2g}  {np.corrcoef(x, y)[0, 1]:.4f}"
        )
    print(f"  reset states in brax: {100 * float(first.mean()):.1f} % of the feet touch the ground")


if __name__ == "__main__":
    main()
