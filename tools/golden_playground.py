"""golden_playground.py PLAYGROUND OUT: playground_go1.npz: rewards of MuJoCo Playground's joystick task of the Go1.

Needs mujoco (of envs/mujoco.Version) and a checkout of mujoco_playground. The reward is Playground's own code,
locomotion/go1/joystick.py, run on NumPy. The states need not follow from each other: trunk and joints move along sines
about the home pose, so that feet leave the ground and touch it, and the reward, which is cut at 0, stays above 0.
MuJoCo computes sensors and forces of these states. In the last episodes knees are beyond their soft limits, or the
robot is upside down. The command of the first episode is 0, and no command changes.

    qpos, qvel       [episodes, steps + 1, n]: the states, exact float32 numbers, as the actions
    actions          [episodes, steps, 12]
    commands         [episodes, 3]
    rewards          [episodes, steps]
"""
import re
import sys
import types
from pathlib import Path

import mujoco
import numpy as np

EPISODES, STEPS = 8, 20
playground, out = map(Path, sys.argv[1:3])
single = lambda x: np.asarray(x, np.float32).astype(np.float64)


def sensor(model, data, name):
    at = model.sensor(name)
    return data.sensordata[at.adr[0]:at.adr[0] + at.dim[0]]


def stub(name, **contents):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(contents)


# What Playground imports for other purposes than the reward.
create = lambda **settings: types.SimpleNamespace(**settings)
stub("jax", Array=np.ndarray, numpy=np)
sys.modules["jax.numpy"] = np
stub("etils", epath=types.SimpleNamespace(Path=Path))
stub("ml_collections", config_dict=types.SimpleNamespace(ConfigDict=object, create=create))
stub("mujoco.mjx", Data=object, Model=object)
stub("mujoco.mjx._src", math=None)
mujoco.mjx = sys.modules["mujoco.mjx"]
source = playground / "mujoco_playground" / "_src"
for path in ("", "_src", "_src/locomotion", "_src/locomotion/go1"):
    folder = playground / "mujoco_playground" / path
    stub(".".join(folder.relative_to(playground).parts), __path__=[str(folder)])
environment = types.SimpleNamespace(MjxEnv=object, State=object, ROOT_PATH=source, get_sensor_data=sensor)
sys.modules["mujoco_playground._src"].mjx_env = environment
from mujoco_playground._src.locomotion.go1 import go1_constants, joystick

env = joystick.Joystick.__new__(joystick.Joystick)
env._config = config = joystick.default_config()
scene = go1_constants.FEET_ONLY_FLAT_TERRAIN_XML
drawn = r'<(mesh|geom class="visual") [^>]*/>'  # the meshes, which are in MuJoCo Menagerie
files = {f.name: re.sub(drawn, "", f.read_text()).encode() for f in scene.parent.glob("*.xml")}
env._mj_model = m = mujoco.MjModel.from_xml_string(scene.read_text(), files)
env._post_init()
random, d = np.random.default_rng(0), mujoco.MjData(m)
found = [m.sensor(f"{foot}_floor_found").adr[0] for foot in go1_constants.FEET_GEOMS]
terms = {name: 0 for name in vars(config.reward_config.scales)}


def motion(command, number):
    """The states of an episode."""
    times = np.arange(STEPS + 1)[:, None] * config.ctrl_dt
    wave = lambda n, size: (lambda rate, phase: size * np.sin(rate * times + phase))(
        random.uniform(2, 15, n), random.uniform(0, 6, n))
    qpos, qvel = np.tile(env._init_q, (STEPS + 1, 1)), np.zeros((STEPS + 1, m.nv))
    yaw = random.uniform(-3.14, 3.14)
    tilt = np.concatenate([wave(2, 0.03), np.full((STEPS + 1, 1), yaw / 2)], axis=1)
    qpos[:, :3] += wave(3, 0.01)
    for q, (x, y, z) in zip(qpos, tilt):
        turn = np.zeros(4)
        lean = np.array([1, x, y, 0]) / np.sqrt(1 + x * x + y * y)
        mujoco.mju_mulQuat(turn, np.array([np.cos(z), 0, 0, np.sin(z)]), lean)
        q[3:7] = turn if number < EPISODES - 1 else [turn[1], turn[0], turn[3], turn[2]]
    qpos[:, 7:] += wave(m.nu, 0.15)
    if number == EPISODES - 2:
        qpos[:, 9] = m.jnt_range[3, 0]
    cos, sin = np.cos(yaw), np.sin(yaw)
    qvel[:, :3] = [cos * command[0] - sin * command[1], sin * command[0] + cos * command[1], 0]
    qvel += wave(m.nv, np.concatenate([np.full(6, 0.1), np.full(m.nu, 0.5)]))
    return single(qpos), single(qvel)


def episode(command, number):
    (qpos, qvel), actions, rewards = motion(command, number), [], []
    info = {"feet_air_time": np.zeros(4), "swing_peak": np.zeros(4), "last_contact": np.zeros(4, bool), "command": command,
            "last_act": np.zeros(m.nu), "last_last_act": np.zeros(m.nu)}
    for q, v in zip(qpos[1:], qvel[1:]):
        actions.append(single(random.uniform(-0.3, 0.3, m.nu)))
        d.qpos[:], d.qvel[:], d.ctrl[:] = q, v, env._default_pose + actions[-1] * config.action_scale
        mujoco.mj_forward(m, d)
        # From here on as in Joystick.step.
        contact = d.sensordata[found] > 0
        first_contact = (info["feet_air_time"] > 0) * (contact | info["last_contact"])
        info["feet_air_time"] = info["feet_air_time"] + config.ctrl_dt
        info["swing_peak"] = np.maximum(info["swing_peak"], d.site_xpos[env._feet_site_id][:, 2])
        parts = env._get_reward(d, actions[-1], info, {}, env._get_termination(d), first_contact, contact)
        scaled = {k: v * getattr(config.reward_config.scales, k) for k, v in parts.items()}
        rewards.append(np.clip(sum(scaled.values()) * config.ctrl_dt, 0, 10000))
        info["last_act"] = actions[-1]
        info["feet_air_time"] = info["feet_air_time"] * ~contact
        info["last_contact"] = contact
        info["swing_peak"] = info["swing_peak"] * ~contact
        if rewards[-1] > 0:
            for k, v in scaled.items():
                terms[k] += float(v)
    return qpos, qvel, np.array(actions), np.array(rewards)


most = np.array(config.command_config.a)
commands = [single(most * random.uniform(-1, 1, 3)) * (number > 0) for number in range(EPISODES)]
rows = [episode(command, number) for number, command in enumerate(commands)]
print("sums of the terms of rewards above 0:", ", ".join(f"{k} {v:.3g}" for k, v in terms.items()))
print(f"{np.mean([r > 0 for *_, r in rows]):.0%} of the rewards are above 0")
arrays = dict(zip(("qpos", "qvel", "actions", "rewards"), map(np.array, zip(*rows)))) | {"commands": np.array(commands)}
np.savez_compressed(out / "playground_go1.npz", **{k: v.astype(np.float32) for k, v in arrays.items()})
