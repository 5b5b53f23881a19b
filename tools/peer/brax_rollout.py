"""Peer for the speed of rollouts: the paper's simulator, Brax 0.0.12 under JAX 0.4.20, a separate policy in each environment.

    pip install -r brax.txt
    python brax_rollout.py ant-uni --batch 256 --steps 250 [--chunk 16]

Runs `batch` different policies (2 x 256 units) for `steps` control steps from a random reset each and sums their rewards: the
cost of evaluating a population, without descriptors and without masking after the end of an episode. --chunk runs the policies in
slices of that size, as a JAX user would tune for the cache. Prints one JSON line: the best of the repeats, environment steps per second.
"""
import argparse
import json
import time
import warnings

warnings.filterwarnings("ignore")

import jax
import jax.numpy as jnp

# Names that Brax uses and newer versions of JAX no longer have, for a machine whose JAX is the one for its GPU.
for name in ("tree_map", "tree_flatten", "tree_unflatten"):
    setattr(jax, name, getattr(jax.tree_util, name))
jax.tree_multimap = jax.tree_util.tree_map

try:
    from jax.core import trace_state_clean
except ImportError:
    from jax._src.core import trace_state_clean

import brax
from brax import jumpy
from brax.envs import ant, env, halfcheetah, hopper, humanoid, walker2d

# Brax asks a JAX 0.3 interface whether it runs under jit. This JAX always answers no, and Brax would unroll its loops.
jumpy._in_jit = lambda: not trace_state_clean()


def walls(name, capsules):
    """A frozen body of horizontal capsules (axis, x, y, length; in m, of radius 0.5), in Brax's text format, that the ant collides with."""
    turn = {"x": "y: 90", "y": "x: 90"}
    colliders = "".join(
        f"colliders {{ position {{ x: {x} y: {y} z: 0.5 }} rotation {{ {turn[axis]} }} capsule {{ radius: 0.5 length: {length} }} }}"
        for axis, x, y, length in capsules
    )
    hit = ["$ Torso", "$ Body 4", "$ Body 7", "$ Body 10", "$ Body 13", "Ground"]
    pairs = "".join(f'collide_include {{ first: "{body}" second: "{name}" }}' for body in hit)
    return f'bodies {{ name: "{name}" {colliders} inertia {{ x: 1e4 y: 1e4 z: 1e4 }} mass: 1 frozen {{ all: true }} }} {pairs}'


class WalledAnt(ant.Ant):
    """Brax's ant by position-based dynamics, with additional bodies, and the torso's scaled (x, y) prepended to the observation."""

    def __init__(self, bodies, center, scale):
        env.Env.__init__(self, ant._SYSTEM_CONFIG + bodies)
        self.center, self.scale = jnp.array(center), jnp.array(scale)

    def _get_obs(self, qp, info):
        return jnp.concatenate([(qp.pos[0, :2] - self.center) / self.scale, super()._get_obs(qp, info)])


class AntTrap(WalledAnt):
    def __init__(self):
        trap = walls("Trap", [("y", 12, 0, 5), ("x", 9.5, 3, 6), ("x", 9.5, -3, 6)])
        super().__init__(trap, center=(15.0, 0.0), scale=(15.0, 8.0))


class AntMaze(WalledAnt):
    """The reward is minus the distance to the target, a body without collisions. The ceiling is at 5 m instead of 1."""

    def __init__(self):
        maze = walls("Maze", [
            ("x", 17.5, -5, 46), ("x", 17.5, 40, 46), ("y", -5, 17.5, 44), ("y", 40, 17.5, 44),
            ("y", 20, 7.5, 24), ("x", 15, 7.5, 9), ("y", 10, 30, 19.5),
        ])
        target = """
            bodies { name: "Target" colliders { sphere { radius: 0.5 } } frozen { all: true } }
            defaults { qps { name: "Target" pos { x: 35 y: 0 z: 0.5 } } }"""
        super().__init__(maze + target, center=(17.5, 17.5), scale=(22.5, 22.5))

    def step(self, state, action):
        state = super().step(state, action)
        target = state.qp.pos[self.sys.body.index["Target"], :2]
        x, y, z = state.qp.pos[0]
        done = jnp.where((z < 0.2) | (z > 5), 1.0, 0.0)
        return state.replace(reward=-jnp.linalg.norm(jnp.array([x, y]) - target), done=done)


ENVS = {
    "ant-uni": lambda: ant.Ant(legacy_spring=True),
    "ant-omni": lambda: ant.Ant(legacy_spring=True),  # the same work: its reward has one term less
    "ant-trap": AntTrap,
    "ant-maze": AntMaze,
    "walker-uni": lambda: walker2d.Walker2d(legacy_spring=True),
    "halfcheetah-uni": lambda: halfcheetah.Halfcheetah(legacy_spring=True),
    "hopper-uni": lambda: hopper.Hopper(legacy_spring=True),
    "humanoid-uni": lambda: humanoid.Humanoid(legacy_spring=True),
    "humanoid-omni": lambda: humanoid.Humanoid(legacy_spring=True),  # as humanoid-uni
}


def init(key, sizes):
    keys = jax.random.split(key, 3)
    limits = [(3.0 / n) ** 0.5 for n in sizes]
    return [
        (jax.random.uniform(keys[i], (sizes[i], sizes[i + 1]), minval=-limits[i], maxval=limits[i]), jnp.zeros(sizes[i + 1]))
        for i in range(3)
    ]


def policy(params, x):
    for i, (w, b) in enumerate(params):
        x = x @ w + b
        x = jax.nn.relu(x) if i < 2 else jnp.tanh(x)
    return x


def main():
    p = argparse.ArgumentParser()
    p.add_argument("env", choices=ENVS)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--chunk", type=int, default=0, help="0: the whole population at once")
    p.add_argument("--repeats", type=int, default=3)
    a = p.parse_args()
    chunk = a.chunk or a.batch
    if a.batch % chunk:
        p.error(f"--chunk {chunk} does not divide --batch {a.batch}")
    e = ENVS[a.env]()
    sizes = [e.observation_size, 256, 256, e.action_size]

    def rollout(params, key):
        def step(state, _):
            state = e.step(state, policy(params, state.obs))
            return state, state.reward

        return jax.lax.scan(step, e.reset(key), None, length=a.steps)[1].sum()

    params = jax.jit(jax.vmap(lambda k: init(k, sizes)))(jax.random.split(jax.random.PRNGKey(0), a.batch))
    keys = jax.random.split(jax.random.PRNGKey(1), a.batch)
    slices = [jax.tree_util.tree_map(lambda x: x[i : i + chunk], (params, keys)) for i in range(0, a.batch, chunk)]
    run = jax.jit(jax.vmap(rollout))

    def seconds():
        start = time.perf_counter()
        jax.block_until_ready([run(*s) for s in slices])
        return time.perf_counter() - start

    first = seconds()
    best = min(seconds() for _ in range(a.repeats))
    print(json.dumps({
        "peer": f"brax 0.0.12, jax {jax.__version__}", "device": str(jax.devices()[0]), "env": a.env, "batch": a.batch,
        "steps": a.steps, "chunk": chunk, "first_s": round(first, 3), "best_s": round(best, 4),
        "env_steps_per_s": round(a.batch * a.steps / best),
    }))


if __name__ == "__main__":
    main()
