# Writes what MuJoCo computes for a model to an .npz file: random states without contacts (free_), states on
# the way of rollouts (touch_), and the rollouts (traj0_ and so on), with the farthest of twins at each control step.
# Names, shapes and meaning are those of the golden files; constraints are solved to convergence. All states are
# exact float32 numbers.
#
# further arguments: PAIRS, a JSON file [[geom, geom], ...] of the only pairs that may touch; OUT, the file

import time
from mujoco import rollout as rollout_module

STATES, ROLLOUTS = 50, 10
TWINS = 8  # of each rollout: their states move by ROUGH times their rounding after each step
ROUGH = 10  # engines in float32 compute so roughly: contacts that are as near each other may be one
CONTROL = 0.02  # s, about the time that a control is held
FASTEST = 0.5  # rad or m in one step: what becomes faster is not stable


def single(x):
    return np.asarray(x, np.float32).astype(np.float64)


def stable(m, d):
    return np.all(np.abs(d.qvel) * m.opt.timestep < FASTEST)


def start(m, d, state):
    mujoco.mj_resetData(m, d)
    d.qpos[:], d.qvel[:], d.ctrl[:], d.act[:] = state
    mujoco.mj_forward(m, d)


def results(m, d, state, vector, held):
    """What MuJoCo computes in a state, and after one step and one control step."""
    start(m, d, state)
    out = {k: np.array(getattr(d, k)) for k in ("qacc", "qacc_smooth", "qfrc_bias", "qfrc_passive",
                                                  "qfrc_actuator", "qfrc_constraint", "xpos", "xquat", "subtree_com")}
    out |= dict(zip(("qpos", "qvel", "ctrl", "act"), state), vector=vector, M_vector=np.zeros(m.nv),
                counts=np.array([d.ncon, d.ne, d.nf, d.nl, d.nefc]))
    mujoco.mj_mulM(m, d, out["M_vector"], vector)
    out["contact"] = [c for c in map(lambda i: contact(m, d, i), range(d.ncon)) if c["dim"][0]]
    for name, steps in (("step", 1), ("control", held - 1)):
        for _ in range(steps):
            mujoco.mj_step(m, d)
        out[name + "_qpos"], out[name + "_qvel"] = d.qpos.copy(), d.qvel.copy()
    return out


def contact(m, d, i):
    c, force = d.contact[i], np.zeros(6)
    mujoco.mj_contactForce(m, d, i, force)
    active = c.dim if c.efc_address >= 0 else 0
    return dict(geom=np.array(c.geom), dist=np.array([c.dist]), pos=np.array(c.pos), frame=np.array(c.frame),
                friction=np.array(c.friction), dim=np.array([active]), margin=np.array([c.includemargin]), force=force)


def near(state, random, times=1):
    """A state whose numbers are moved by their rounding, those of positions by at least the rounding of a metre."""
    return [x + times * 6e-8 * random.uniform(-1, 1, x.shape) * np.maximum(np.abs(x), 0 if i else 1)
            for i, x in enumerate(state)]


def noise(m, d, state, own, vector, held, random):
    """The largest changes when the numbers of a state move by ROUGH times their rounding, or the distances of geoms or the
    centres of mass do, over ROUGH. Faces that slide along each other are 0 m apart in all poses: whether they touch is
    rounding in float64; so is the torque of gravity about an axis through a centre of mass."""
    names = ("qacc", "step_qvel", "control_qpos", "control_qvel", "qfrc_bias", "qfrc_passive", "qacc_smooth",
             "qfrc_actuator")
    most, geoms, pairs = np.zeros(len(names)), m.geom_margin.copy(), m.pair_margin.copy()
    centers, same = m.body_ipos.copy(), m.body_sameframe.copy()
    for nearer, aside in *[(0, 0)] * 10, (-6e-8, 0), (6e-8, 0), (0, 6e-8 * m.stat.extent):
        m.geom_margin[:], m.pair_margin[:] = geoms + ROUGH * nearer / 2, pairs + ROUGH * nearer  # geoms' are summed
        m.body_ipos[:], m.body_sameframe[:] = centers + ROUGH * aside, 0 if aside else same
        other = results(m, d, state if nearer or aside else near(state, random, ROUGH), vector, held)
        most = np.maximum(most, [np.linalg.norm(other[k] - own[k]) / ROUGH for k in names])
    m.geom_margin[:], m.pair_margin[:], m.body_ipos[:], m.body_sameframe[:] = geoms, pairs, centers, same
    return most


def stacked(m, prefix, rows):
    """The results of several states as arrays."""
    most = max((len(r["contact"]) for r in rows), default=0)
    out = {f"{prefix}_{k}": np.array([r[k] for r in rows]) for k in rows[0] if k != "contact"} if rows else {}
    for k, n in dict(geom=2, dist=1, pos=3, frame=9, friction=5, dim=1, margin=1, force=6).items():
        array = np.zeros((len(rows), most, n), np.int32 if k in ("geom", "dim") else np.float64)
        for i, r in enumerate(rows):
            for j, c in enumerate(r["contact"]):
                array[i, j] = c[k]
        out[f"{prefix}_contact_{k}"] = array
    return out


def rollout(m, d, first, ctrl, held, random=None):
    """Positions, velocities, activations, numbers of contacts, and of those between links, and how many control steps
    are stable: there the rollout ends."""
    now = lambda: (d.qpos.copy(), d.qvel.copy(), d.act.copy(), d.ncon, len(between_links(m, d)))
    start(m, d, [*first[:2], ctrl[0], first[2]])
    rows = [now()]
    for u in ctrl:
        d.ctrl[:] = u
        for _ in range(held):
            mujoco.mj_step(m, d)
            if random:
                d.qpos[:], d.qvel[:], d.act[:] = near([d.qpos, d.qvel, d.act], random, ROUGH / 2)
        if not stable(m, d):
            break
        rows.append(now())
    steps = len(rows) - 1
    rows += rows[-1:] * (len(ctrl) - steps)
    return *map(np.array, zip(*rows)), steps


def tied(m):
    """Whether bodies are tied to each other."""
    return np.any((m.eq_type <= int(mujoco.mjtEq.mjEQ_WELD)) & m.eq_active0)


def pose(m, random):
    """A random pose within the limits of the joints, or 3 % beyond them. It would tear apart bodies that are tied: of
    such robots only what is free moves."""
    q = m.key_qpos[0].copy() if tied(m) and m.nkey else m.qpos0.copy()
    for j in range(m.njnt):
        a, kind = m.jnt_qposadr[j], mujoco.mjtJoint(m.jnt_type[j])
        if tied(m) and kind != mujoco.mjtJoint.mjJNT_FREE:
            continue
        if kind in (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE):
            low, high = m.jnt_range[j] if m.jnt_limited[j] else q[a] + np.array([-1, 1])
            q[a] = (low + high) / 2 + (high - low) / 2 * random.uniform(-1.03, 1.03)
            continue
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            q[a:a + 3] += random.uniform([-1, -1, 0], [1, 1, 2])
            a += 3
        turn = random.normal(size=4)
        q[a:a + 4] = turn / np.linalg.norm(turn)
    return single(q)


def speed(m, random, held):
    """Control steps per second of random gaits on all cores, of the file as it is."""
    mujoco.set_mjcb_contactfilter(None)
    runs, T, threads = 64, round(1 / (held * m.opt.timestep)), len(os.sched_getaffinity(0))
    data = [mujoco.MjData(m) for _ in range(threads)]
    d = data[0]
    mujoco.mj_resetDataKeyframe(m, d, 0) if m.nkey else mujoco.mj_resetData(m, d)
    first = np.zeros(mujoco.mj_stateSize(m, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(m, d, first, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    times = held * m.opt.timestep * np.arange(T)
    ctrl = np.array([np.repeat(single(controls(m, random, times)), held, axis=0) for _ in range(runs)])
    best = np.inf
    with rollout_module.Rollout(nthread=threads) as pool:
        for _ in range(2):
            begin = time.perf_counter()
            pool.rollout([m] * runs, data, np.tile(first, (runs, 1)), ctrl if m.nu else None, nstep=T * held)
            best = min(best, time.perf_counter() - begin)
    return runs * T / best


def reference(path, pairs, out):
    m, random = read(path)[0], np.random.default_rng(0)
    d, held = mujoco.MjData(m), max(2, round(CONTROL / m.opt.timestep))
    with open(pairs) as file:
        only(m, json.load(file))
    # From there on accelerations change by less than 1e-9.
    m.opt.solver, m.opt.iterations, m.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 300, 1e-15
    m.opt.ls_iterations = 50
    # The search for a contact ends 1e-6 from the surface by default, which turns a normal by 1e-5.
    m.opt.ccd_iterations, m.opt.ccd_tolerance = 300, 1e-14
    # The search on a height field ends early if the other geom is a box or a mesh, unless a margin makes them smooth: it
    # takes two corners of the same geom for the same, since corners of prisms have no number (version 4.0).
    field = m.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD
    m.geom_margin[field & (m.geom_margin == 0)] = 1e-12
    m.pair_margin[(field[m.pair_geom1] | field[m.pair_geom2]) & (m.pair_margin == 0)] = 1e-12
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    T = round(1 / (held * m.opt.timestep))
    arrays, states, between = {"frame_skip": np.array(held)}, {"free": [], "touch": []}, []
    fast = 1.0  # m/s or rad/s, less where MuJoCo itself is not stable for a control step, such as in a dense fluid
    for _ in range(20 * STATES):
        if len(states["free"]) < STATES:
            state = [pose(m, random), single(fast * random.normal(size=m.nv)),
                     single(controls(m, random, np.zeros(1))[0]), single(random.normal(size=m.na))]
            start(m, d, state)
            if tied(m):  # others than those of the keyframe
                mujoco.mj_step(m, d, held * random.integers(1, 16))
                state = [single(d.qpos), single(d.qvel), state[2], single(d.act)]
                start(m, d, state)
            if d.ncon == 0:
                mujoco.mj_step(m, d, held)
                if stable(m, d):
                    states["free"].append(state)
                else:
                    fast /= 2
    for k in range(ROLLOUTS):
        ctrl = single(controls(m, random, held * m.opt.timestep * np.arange(T)))
        mujoco.mj_resetDataKeyframe(m, d, 0) if m.nkey else mujoco.mj_resetData(m, d)
        d.qpos += 1e-4 * random.normal(size=m.nq)  # feet may touch the ground exactly, where rounding decides
        mujoco.mj_normalizeQuat(m, d.qpos)
        first = [single(d.qpos), single(0.1 * random.normal(size=m.nv)), single(d.act)]
        qpos, qvel, act, ncon, linked, steps = rollout(m, d, first, ctrl, held)
        between += list(linked[:steps + 1])
        order = random.permutation(steps)
        for t in sorted(order, key=lambda t: ncon[t] == 0)[:STATES // ROLLOUTS]:  # those with contacts first
            states["touch"].append([single(qpos[t]), single(qvel[t]), ctrl[t], single(act[t])])
        twins = np.array([rollout(m, d, near(first, random, ROUGH), ctrl, held, random)[0] for _ in range(TWINS)])
        twins = qpos + (twins - qpos) / ROUGH
        farthest = np.argmax(np.linalg.norm(twins - qpos, axis=2), axis=0)
        arrays |= {f"traj{k}_ctrl": ctrl, f"traj{k}_qpos": qpos, f"traj{k}_qvel": qvel, f"traj{k}_act": act,
                   f"traj{k}_qpos_twin": twins[farthest, np.arange(len(qpos))],
                   f"traj{k}_supported_steps": np.array(steps)}
    for prefix, chosen in states.items():
        rows = []
        for state in chosen:
            vector = single(random.normal(size=m.nv))
            row = results(m, d, state, vector, held)
            rows.append(row | {"noise": noise(m, d, state, row, vector, held, random)})
        arrays |= stacked(m, prefix, rows)
    arrays["link_contacts"] = np.array(between)
    arrays["speed"] = np.array(speed(read(path)[0], random, held))
    np.savez(out, **arrays)


answer(lambda: reference(*sys.argv[2:5]))
