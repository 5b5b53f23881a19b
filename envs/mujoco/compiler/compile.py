# Returns the compiled mjModel as data: sizes, options, names and arrays in MuJoCo's names.
import ctypes, glob

SIZES = """nq nv nu na nbody njnt ngeom nsite npair nexclude nkey neq ntendon nflex nskin nmesh nhfield
    nmocap nsensor nplugin nactuator nout"""
OPT = """timestep impratio tolerance ls_tolerance noslip_tolerance gravity wind magnetic density viscosity
    o_margin o_solref o_solimp o_friction integrator cone jacobian solver iterations ls_iterations
    noslip_iterations disableflags enableflags disableactuator"""
NAMES = dict(body="nbody", joint="njnt", geom="ngeom", site="nsite", actuator="nactuator", key="nkey",
             sensor="nsensor")
ARRAYS = {
    "": "qpos0 qpos_spring",
    "body_": """parentid rootid weldid mocapid jntnum jntadr dofnum dofadr geomnum geomadr pos quat ipos iquat
        mass subtreemass inertia invweight0 gravcomp""",
    "jnt_": """type qposadr dofadr bodyid limited actfrclimited actgravcomp solref solimp pos axis stiffness
        stiffnesspoly springyield range actfrcrange margin""",
    "dof_": """bodyid jntid parentid treeid solref solimp frictionloss armature damping dampingpoly invweight0
        M0""",
    "geom_": """type contype conaffinity condim bodyid dataid group priority solmix solref solimp size rbound
        pos quat friction margin gap surfacevel adhesion fluid plugin""",
    "site_": "bodyid type pos quat size",
    "pair_": "dim geom1 geom2 solref solreffriction solimp margin gap adhesion friction",
    "exclude_": "signature",
    "actuator_": """trntype dyntype gaintype biastype trnid ctrladr ctrlnum outadr outnum gainprm biasprm dynprm
        gear ctrllimited ctrlrange forcelimited forcerange damping dampingpoly armature delay history actnum
        group plugin""",
    "key_": "time qpos qvel act ctrl",
    "eq_": "type obj1id obj2id active0 data solref solimp",
    "tendon_": """type stiffness stiffnesspoly springyield damping dampingpoly frictionloss limited armature
        actfrclimited""",
    "sensor_": "type objtype objid reftype refid dim adr cutoff delay",
}


def plain(value):
    """A number, or an array as lists of numbers; flags are 0 and 1."""
    value = np.asarray(value)
    if value.dtype.kind == "f" and not np.all(np.isfinite(value)):
        raise ValueError("the compiled model has a number that is not finite: look for nan or inf in the file")
    return (value.astype(int) if value.dtype == bool else value).tolist()


def poses(m, n):
    """Random poses, up to 5 % beyond the limits of joints."""
    draws, poses = np.random.default_rng(0), np.tile(m.qpos0, (n, 1))
    for kind, address, limited, (low, high) in zip(m.jnt_type, m.jnt_qposadr, m.jnt_limited, m.jnt_range):
        if kind == mujoco.mjtJoint.mjJNT_BALL:
            poses[:, address:address + 4] = draws.standard_normal((n, 4))  # MuJoCo normalises them
        elif kind != mujoco.mjtJoint.mjJNT_FREE:
            if not limited:
                reach = np.pi if kind == mujoco.mjtJoint.mjJNT_HINGE else 1
                low, high = m.qpos0[address] - reach, m.qpos0[address] + reach
            beyond = 0.05 * (high - low)
            poses[:, address] = draws.uniform(low - beyond, high + beyond, n)
    return poses


POSES = 20_000  # that are tried for contacts between the robot's own bodies


def own_contacts(m):
    """The pairs of geoms of one tree that touch in random poses."""
    colliding = np.flatnonzero(m.geom_contype | m.geom_conaffinity)
    links = {(int(m.body_rootid[body]), int(m.body_weldid[body])) for body in m.geom_bodyid[colliding]}
    if m.npair == 0 and len({root for root, _ in links}) == len(links):
        return []  # no tree has two links that may touch
    d = mujoco.MjData(m)
    root = m.body_rootid[m.geom_bodyid]
    found = set()
    for pose in poses(m, POSES):
        d.qpos[:] = pose
        mujoco.mj_kinematics(m, d)
        mujoco.mj_collision(m, d)
        if d.ncon:
            found.update(map(tuple, np.sort(d.contact.geom, axis=1).tolist()))
    return sorted(pair for pair in found if root[pair[0]] == root[pair[1]] != 0)


CONVEX = [int(kind) for kind in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_MESH)]  # and those between
ROLLOUTS, STEPS = 16, 500
STARTS = 50


def link_contacts(m):
    """The largest number of modelled contacts between links at a time in rollouts of a second, and in control steps
    from random poses in which links do not touch."""
    d, random, most = mujoco.MjData(m), np.random.default_rng(0), 0

    def count():
        kinds = m.geom_type[between_links(m, d)]
        return int(((kinds >= CONVEX[0]) & (kinds <= CONVEX[1])).all(axis=1).sum())

    def roll(steps):
        most = 0
        for ctrl in controls(m, random, m.opt.timestep * np.arange(steps)):
            d.ctrl[:] = ctrl
            mujoco.mj_step(m, d)
            if d.ncon > most:
                most = max(most, count())
        return most

    for _ in range(ROLLOUTS):
        mujoco.mj_resetDataKeyframe(m, d, 0) if m.nkey else mujoco.mj_resetData(m, d)
        d.qvel[:] = 0.1 * random.normal(size=m.nv)
        most = max(most, roll(min(round(1 / m.opt.timestep), STEPS)))
    for pose in poses(m, STARTS):
        mujoco.mj_resetData(m, d)
        d.qpos[:], d.qvel[:] = pose, random.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        if count() == 0:
            most = max(most, roll(round(0.02 / m.opt.timestep)))
    return most


def tendon(m, i):
    """The joints and coefficients of a fixed tendon, the segments of a spatial one, straight or around a geom, what
    MuJoCo derives of its length, and the laws of its limit and friction loss."""
    parts = slice(m.tendon_adr[i], m.tendon_adr[i] + m.tendon_num[i])
    kinds, ids, numbers = m.wrap_type[parts], plain(m.wrap_objid[parts]), plain(m.wrap_prm[parts])
    fixed = np.all(kinds == mujoco.mjtWrap.mjWRAP_JOINT)
    site, pulley = (kinds == kind for kind in (mujoco.mjtWrap.mjWRAP_SITE, mujoco.mjtWrap.mjWRAP_PULLEY))
    segments, divisor = [], 1
    for k in range(len(ids) - 1):
        divisor = numbers[k] if pulley[k] else divisor
        if site[k] and site[k + 1]:
            segments.append({"sites": ids[k:k + 2], "divisor": divisor})
        elif site[k] and not pulley[k + 1]:
            segments.append({"sites": ids[k:k + 3:2], "divisor": divisor,
                             "wrap": {"geom": ids[k + 1], "sidesite": round(numbers[k + 1])}})
    return {"joints": ids if fixed else [], "coefs": numbers if fixed else [],
            **({"segments": segments} if segments else {}), "length0": m.tendon_length0[i],
            "lengthspring": plain(m.tendon_lengthspring[i]), "invweight0": m.tendon_invweight0[i],
            "range": plain(m.tendon_range[i]), "margin": m.tendon_margin[i],
            "solref": plain([m.tendon_solref_lim[i], m.tendon_solref_fri[i]]),
            "solimp": plain([m.tendon_solimp_lim[i], m.tendon_solimp_fri[i]])}


def activations(m):
    """The states of actuators with dynamics, in the order of act; none of an actuator that has several."""
    return [{"actuator": int(i), "limited": bool(m.actuator_actlimited[i]), "range": plain(m.actuator_actrange[i]),
             "early": bool(m.actuator_actearly[i])} for i in np.flatnonzero(m.actuator_actnum == 1)]


def muscles(m):
    """What MuJoCo derives for the actuators whose gains or biases are those of muscles."""
    kinds = m.actuator_gaintype == mujoco.mjtGain.mjGAIN_MUSCLE, m.actuator_biastype == mujoco.mjtBias.mjBIAS_MUSCLE
    return [{"actuator": int(i), "lengthrange": plain(m.actuator_lengthrange[m.actuator_outadr[i]]),
             "acc0": float(m.actuator_acc0[m.actuator_outadr[i]])} for i in np.flatnonzero(kinds[0] | kinds[1])]


def tie_bodies(m):
    """Expresses the equalities of sites by those of their bodies."""
    for i in np.flatnonzero((m.eq_objtype == mujoco.mjtObj.mjOBJ_SITE) & (m.eq_type <= int(mujoco.mjtEq.mjEQ_WELD))):
        sites = m.eq_obj1id[i], m.eq_obj2id[i]
        weld = m.eq_type[i] == mujoco.mjtEq.mjEQ_WELD
        m.eq_data[i, :6] = m.site_pos[list(sites[::-1] if weld else sites)].ravel()
        if weld:
            back, turn = np.zeros(4), np.zeros(4)
            mujoco.mju_negQuat(back, m.site_quat[sites[1]])
            mujoco.mju_mulQuat(turn, m.site_quat[sites[0]], back)
            m.eq_data[i, 6:10] = turn
        m.eq_obj1id[i], m.eq_obj2id[i] = m.site_bodyid[list(sites)]
        m.eq_objtype[i] = mujoco.mjtObj.mjOBJ_BODY


def hulls(m):
    """The convex hull of each mesh that may touch something."""
    touches = (m.geom_contype | m.geom_conaffinity) != 0
    touches[np.concatenate([m.pair_geom1, m.pair_geom2])] = True
    used = set(m.geom_dataid[touches & (m.geom_type == mujoco.mjtGeom.mjGEOM_MESH)])
    return [hull(m, i) if i in used else {} for i in range(m.nmesh)] if used else []


def hull(m, mesh):
    faces = range(m.mesh_polyadr[mesh], m.mesh_polyadr[mesh] + m.mesh_polynum[mesh])
    polygons = [m.mesh_polyvert[m.mesh_polyvertadr[f]:m.mesh_polyvertadr[f] + m.mesh_polyvertnum[f]] for f in faces]
    used = np.unique(np.concatenate([[], *polygons])).astype(int)
    graph = m.mesh_graph[m.mesh_graphadr[mesh]:] if m.mesh_graphadr[mesh] >= 0 else np.zeros(2, int)
    others = np.setdiff1d(graph[2 + graph[0]:2 + 2 * graph[0]], used)  # on the hull, but in no polygon
    return {"vertices": plain(m.mesh_vert[m.mesh_vertadr[mesh] + np.concatenate([used, others])]),
            "faces": [np.searchsorted(used, polygon).tolist() for polygon in polygons],
            "normals": plain(m.mesh_polynormal[faces.start:faces.stop])}


def fields(m):
    """The height fields."""
    grids = np.split(m.hfield_data, m.hfield_adr[1:])
    return [{"size": plain(m.hfield_size[i]), "nrow": int(m.hfield_nrow[i]), "ncol": int(m.hfield_ncol[i]),
             "data": [float(f"{x:.9g}") for x in grid]} for i, grid in enumerate(grids[:m.nhfield])]


def plugins(m):
    """The name of each instance's plugin."""
    if m.nplugin == 0:
        return []
    library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(mujoco.__file__), "libmujoco.*"))[0])
    library.mjp_getPluginAtSlot.restype = ctypes.POINTER(ctypes.c_char_p)  # mjpPlugin begins with its name
    return [library.mjp_getPluginAtSlot(int(slot))[0].decode() for slot in m.plugin]


def model_of(path):
    m, notes = read(path)
    tie_bodies(m)
    convex = hulls(m)
    arrays = [prefix + name for prefix, names in ARRAYS.items() for name in names.split()]
    return {
        "mujoco": mujoco.__version__,
        **({"notes": notes} if notes else {}),
        **({} if m.nflex or m.nplugin else  # which take long, and are refused
           {"own_contacts": own_contacts(m), "link_contacts": link_contacts(m)}),
        **({"activations": activations(m)} if m.na else {}),
        **({"tendons": [tendon(m, i) for i in range(m.ntendon)]} if m.ntendon else {}),
        **({"muscles": muscles(m)} if muscles(m) else {}),
        **({"hulls": convex} if convex else {}),
        **({"hfields": fields(m)} if m.nhfield else {}),
        "sizes": {name: getattr(m, name) for name in SIZES.split()},
        "opt": {name: plain(getattr(m.opt, name)) for name in OPT.split()},
        "names": {kind: [getattr(m, kind)(i).name for i in range(getattr(m, n))] for kind, n in NAMES.items()}
        | {"plugin": plugins(m)},
        "arrays": {name: plain(getattr(m, name)) for name in arrays},
    }


answer(lambda: model_of(sys.argv[2]))
