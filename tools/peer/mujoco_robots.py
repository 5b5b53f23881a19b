"""Peer for the speed of the engine of MuJoCo's equations: MuJoCo itself, on the same robot.

    pip install -r mujoco.txt
    python mujoco_robots.py ../../envs/robots/go1.json --steps 50 --substeps 5 --simulator rollout

Reads a compiled model as qdnb does, writes it as XML, has MuJoCo compile that, and fails if its numbers differ.
Copies start in the default pose at random velocities, and their actuators follow sines of random rates and
phases; with --hidden each has its own policy of two hidden layers in NumPy. The solver is Newton's method, until
steps improve the cost by less than 1e-8, as qdnb solves to convergence. Prints one JSON line: the best of the
repeats.
"""

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the threads of this script have a policy each

import mujoco
import mujoco.rollout
import numpy as np
from mujoco_rollout import act, count, unflatten, widths

JOINTS = ("free", "ball", "slide", "hinge")
GEOMS = {0: "plane", 2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}
GAINS, BIASES = ("fixed", "affine"), ("none", "affine")
DISABLE_EULERDAMP = 1 << 15


def xml(model, touch):
    """The MJCF of a compiled model, without what does not move or touch. touch names the geoms that alone touch
    the floor; none means all contacts."""
    a, opt, names = model["arrays"], model["opt"], model["names"]

    def attributes(**values):
        words = {
            k: v if isinstance(v, str) else " ".join(repr(float(x)) for x in np.ravel(v))
            for k, v in values.items()
        }
        return "".join(f' {k}="{v}"' for k, v in words.items())

    def flag(x):
        return "true" if x else "false"

    def geom(i):
        if (kind := a["geom_type"][i]) not in GEOMS:
            return ""
        mask = a["geom_contype"][i], a["geom_conaffinity"][i]
        if touch:
            mask = (int(names["geom"][i] == "floor"), int(names["geom"][i] in touch))
        return f'<geom type="{GEOMS[kind]}" contype="{mask[0]}" conaffinity="{mask[1]}"' + (
            f' condim="{a["geom_condim"][i]}" priority="{a["geom_priority"][i]}"'
            + attributes(
                **{
                    k: a["geom_" + k][i]
                    for k in "size pos quat friction solmix solref solimp margin gap".split()
                }
            )
            + "/>"
        )

    def joint(i):
        kind, q, v = JOINTS[a["jnt_type"][i]], a["jnt_qposadr"][i], a["jnt_dofadr"][i]
        if kind == "free":
            return f'<joint type="free" name="joint{i}"' + attributes(damping=a["dof_damping"][v]) + "/>"
        scalar = kind in ("slide", "hinge")
        rest = dict(ref=a["qpos0"][q], springref=a["qpos_spring"][q]) if scalar else {}
        return f'<joint type="{kind}" name="joint{i}" limited="{flag(a["jnt_limited"][i])}"' + (
            f' actuatorfrclimited="{flag(a["jnt_actfrclimited"][i])}"'
            + attributes(
                pos=a["jnt_pos"][i],
                axis=a["jnt_axis"][i],
                range=a["jnt_range"][i],
                margin=a["jnt_margin"][i],
                stiffness=a["jnt_stiffness"][i],
                solreflimit=a["jnt_solref"][i],
                solimplimit=a["jnt_solimp"][i],
                damping=a["dof_damping"][v],
                armature=a["dof_armature"][v],
                frictionloss=a["dof_frictionloss"][v],
                solreffriction=a["dof_solref"][v],
                solimpfriction=a["dof_solimp"][v],
                actuatorfrcrange=a["jnt_actfrcrange"][i],
                **rest,
            )
            + "/>"
        )

    def body(b):
        inside = "".join(geom(i) for i, owner in enumerate(a["geom_bodyid"]) if owner == b)
        inside += "".join(body(c) for c, parent in enumerate(a["body_parentid"]) if parent == b and c != b)
        if b == 0:
            return f"<worldbody>{inside}</worldbody>"
        joints = "".join(joint(i) for i, owner in enumerate(a["jnt_bodyid"]) if owner == b)
        inertial = attributes(
            pos=a["body_ipos"][b],
            quat=a["body_iquat"][b],
            mass=a["body_mass"][b],
            diaginertia=a["body_inertia"][b],
        )
        place = attributes(pos=a["body_pos"][b], quat=a["body_quat"][b])
        return f'<body name="body{b}"{place}>{joints}<inertial{inertial}/>{inside}</body>'

    def actuator(i):
        return (
            f'<general joint="joint{a["actuator_trnid"][i][0]}" ctrllimited="{flag(a["actuator_ctrllimited"][i])}"'
            + (
                f' forcelimited="{flag(a["actuator_forcelimited"][i])}" gaintype="{GAINS[a["actuator_gaintype"][i]]}"'
                f' biastype="{BIASES[a["actuator_biastype"][i]]}"'
                + attributes(
                    **{k: a["actuator_" + k][i] for k in "gear ctrlrange forcerange gainprm biasprm".split()}
                )
                + "/>"
            )
        )

    excluded = "".join(
        f'<exclude body1="body{s >> 16}" body2="body{s & 0xFFFF}"/>' for s in a["exclude_signature"]
    )
    options = f'<option integrator="{("Euler", "RK4", "implicit", "implicitfast")[opt["integrator"]]}"' + (
        f' cone="{("pyramidal", "elliptic")[opt["cone"]]}" solver="Newton" iterations="100" ls_iterations="50"'
        + attributes(
            tolerance=1e-8, **{k: opt[k] for k in "timestep impratio gravity density viscosity".split()}
        )
        + f'><flag eulerdamp="{"disable" if opt["disableflags"] & DISABLE_EULERDAMP else "enable"}"/></option>'
    )
    return (
        '<mujoco><compiler angle="radian" autolimits="false" inertiafromgeom="false"/>'
        + options
        + body(0)
        + f"<contact>{excluded}</contact><actuator>{''.join(map(actuator, range(model['sizes']['nu'])))}</actuator></mujoco>"
    )


def read(path, touch):
    """A compiled model and MuJoCo's own of the same numbers."""
    with open(path) as file:
        source = json.load(file)
    left = source["opt"]["disableflags"] & ~DISABLE_EULERDAMP
    if left or any(np.ravel(source["arrays"]["eq_active0"])) or source["sizes"]["npair"]:
        raise SystemExit(f"{path}: the peer has no equalities, pairs of geoms, and flags but eulerdamp")
    model = mujoco.MjModel.from_xml_string(xml(source, touch))
    for (
        name
    ) in """body_mass body_inertia body_ipos body_invweight0 dof_invweight0 dof_armature dof_damping jnt_range
            jnt_axis qpos0 actuator_gainprm actuator_biasprm actuator_gear actuator_ctrlrange""".split():
        want, got = np.ravel(source["arrays"][name]), np.ravel(getattr(model, name))
        if want.shape != got.shape or not np.allclose(want, got, rtol=1e-6, atol=1e-9):
            raise SystemExit(f"{path}: {name} is not that of MuJoCo's model")
    return source, model


class Gait:
    """Random starts and controls of copies, as of qdnb's BenchmarkRobot."""

    def __init__(self, source, model, copies, substeps):
        random = np.random.default_rng(0)
        a, low, high = source["arrays"], *np.reshape(model.actuator_ctrlrange, (-1, 2)).T
        self.qpos, self.middle, self.swing = model.qpos0, (low + high) / 2, (high - low) / 2
        if source["sizes"]["nkey"]:
            self.qpos, self.middle, self.swing = np.array(a["key_qpos"][0]), np.array(a["key_ctrl"][0]), 0.15
        self.qvel = 0.1 * random.standard_normal((copies, model.nv))
        self.rate = random.uniform(0.5, 3, (copies, model.nu))
        self.phase = random.uniform(0, 2 * np.pi, (copies, model.nu))
        self.dt = substeps * model.opt.timestep

    def control(self, step, of=slice(None)):
        return self.middle + self.swing * np.sin(2 * np.pi * self.rate[of] * step * self.dt + self.phase[of])


def with_rollout(a, model, gait, pool):
    state = np.zeros((a.batch, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + model.nq], state[:, 1 + model.nq : 1 + model.nq + model.nv] = gait.qpos, gait.qvel
    controls = np.stack([gait.control(step) for step in range(a.steps)], 1).repeat(a.substeps, 1)
    datas = [mujoco.MjData(model) for _ in range(a.threads)]
    runner = mujoco.rollout.Rollout(nthread=a.threads)
    return lambda: runner.rollout(model, datas, state, controls)


def with_mjbatch(a, model, gait, pool):
    import mjbatch

    chunk = min(a.chunk or -(-a.batch // a.threads), a.batch)
    batches = [mjbatch.Batch(model, chunk, num_threads=1) for _ in range(a.threads)]
    views = [[batch.bind(name) for name in ("qpos", "qvel", "ctrl")] for batch in batches]
    sizes = widths(model.nq + model.nv, a.hidden, model.nu)
    weights = (
        np.random.default_rng(1)
        .normal(0, 0.05, (a.batch if a.hidden else 0, count(sizes)))
        .astype(np.float32)
    )

    def work(thread):
        batch, (qpos, qvel, ctrl) = batches[thread], views[thread]
        for start in range(thread * chunk, a.batch, a.threads * chunk):
            of = slice(min(start, a.batch - chunk), min(start, a.batch - chunk) + chunk)
            batch.reset()
            qpos[:], qvel[:] = gait.qpos, gait.qvel[of]
            layers = unflatten(weights[of], sizes) if a.hidden else None
            for step in range(a.steps):
                if layers:
                    seen = np.concatenate([qpos, qvel], 1, dtype=np.float32)
                    ctrl[:] = gait.middle + gait.swing * act(layers, seen)
                else:
                    ctrl[:] = gait.control(step, of)
                batch.step(nstep=a.substeps)

    return lambda: list(pool.map(work, range(a.threads)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model", help="a compiled model, a JSON file")
    p.add_argument("--simulator", choices=["rollout", "mjbatch"], required=True)
    p.add_argument(
        "--touch", default="", help="names of the geoms that alone touch the floor; none: all contacts"
    )
    p.add_argument(
        "--hidden", type=int, default=0, help="units of each hidden layer, of mjbatch; 0: no policies"
    )
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--steps", type=int, required=True, help="control steps")
    p.add_argument("--substeps", type=int, required=True, help="physics steps of a control step")
    p.add_argument(
        "--chunk", type=int, default=0, help="copies that a thread of mjbatch steps together; 0: its share"
    )
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--repeats", type=int, default=1)
    a = p.parse_args()
    source, model = read(a.model, set(filter(None, a.touch.split(","))))
    gait = Gait(source, model, a.batch, a.substeps)
    with ThreadPoolExecutor(a.threads) as pool:
        run = {"rollout": with_rollout, "mjbatch": with_mjbatch}[a.simulator](a, model, gait, pool)
        seconds = []
        for _ in range(a.repeats):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    by = {"rollout": "mujoco", "mjbatch": "mjbatch"}[a.simulator]
    print(
        json.dumps(
            {
                "peer": f"{by} {version(by)}",
                "batch": a.batch,
                "steps": a.steps,
                "best_s": round(min(seconds), 4),
                "env_steps_per_s": round(a.batch * a.steps / min(seconds)),
            }
        )
    )


if __name__ == "__main__":
    main()
