# Moves copies of a robot by control steps. Constraints are solved to convergence, as the engine does. It makes the model
# of its data: the same elements, compiled, and then the exact numbers. Of meshes the data has the hulls of those that may
# touch.
#
# arguments: MODEL, the JSON; COPIES; HELD, physics steps of a control step; PAIRS, as JSON, of geoms that alone may touch,
# or null; TERRAIN, a JSON file of the boxes that replace planes. Requests and answers are lines:
#
#   {"start": [qpos, qvel, act]}  all copies start there
#   {"control": ctrl}         a control step; the answer is {"qpos": qpos, "qvel": qvel}
#   {"show": true}            a window shows the first copy from now on, in real time
#   {"render": [WIDTH, HEIGHT]}  the answer is {"frame": RGB} of the first copy
#
# Numbers are little-endian float32 in base64, a row of all copies after the other.

import base64, time


def numbers(text, rows, copies):
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(rows, copies).T.astype(np.float64)


def text(rows):
    return base64.b64encode(np.ascontiguousarray(np.array(rows).T, "<f4").tobytes()).decode()


def add_terrain(spec, a, blocks):
    """Has boxes replace the horizontal planes, in a last body of their own. Returns the plane of each box, and for all
    explicit pairs of geoms their names and the pairs whose numbers they have."""
    m = spec.compile()
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    spec.stat.extent, spec.stat.center = m.stat.extent, m.stat.center  # of the view
    ground, planes = spec.worldbody.add_body(name="terrain"), []
    pairs = [(f"pair {i}", i) for i in range(m.npair)]
    own = ("contype", "conaffinity", "condim", "priority", "solmix", "solref", "solimp", "friction", "margin", "gap",
           "group")
    for plane in range(m.ngeom):
        if m.geom_type[plane] != mujoco.mjtGeom.mjGEOM_PLANE or m.body_weldid[m.geom_bodyid[plane]] or \
                d.geom_xmat[plane][8] < 1 - 1e-9:
            continue
        for k, block in enumerate(blocks):
            low, high = np.array(block["Low"]), np.array(block["High"])
            ground.add_geom(name=f"block {plane} {k}", type=mujoco.mjtGeom.mjGEOM_BOX, size=(high - low) / 2,
                            pos=d.geom_xpos[plane] + (low + high) / 2, rgba=[0.8, 0.78, 0.74, 1],
                            **{key: a[f"geom_{key}"][plane] for key in own})
            planes.append(plane)
            for i in range(m.npair):
                if plane in (geoms := [m.pair_geom1[i], m.pair_geom2[i]]):
                    other = m.geom(geoms[int(geoms[0] == plane)]).name
                    spec.add_pair(name=f"pair {i} {k}", geomname1=f"block {plane} {k}", geomname2=other)
                    pairs.append((f"pair {i} {k}", i))
    return planes, pairs


def on_terrain(m, a, planes, pairs):
    """Completes a model whose planes boxes replace."""
    ids = [mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_PAIR, name) for name, _ in pairs]
    for key in a:
        if key.startswith("pair_") and key not in ("pair_geom1", "pair_geom2") and pairs:
            getattr(m, key)[ids] = np.array(a[key])[[i for _, i in pairs]]
    for i in set(planes):
        m.geom_contype[i], m.geom_conaffinity[i], m.geom_rgba[i, 3] = 0, 0, 0
    for k in range(m.npair):  # those of the planes themselves
        if {m.pair_geom1[k], m.pair_geom2[k]} & set(planes):
            m.pair_margin[k], m.pair_gap[k] = -1e9, 1e9
    for i in set(m.geom_bodyid[m.geom_type == mujoco.mjtGeom.mjGEOM_MESH]):
        own = m.geom_bodyid == i
        reach = np.max(np.linalg.norm(m.geom_pos[own] - m.body_ipos[i], axis=1) + m.geom_rbound[own])
        m.bvh_aabb[m.body_bvhadr[i]:m.body_bvhadr[i] + m.body_bvhnum[i]] = [0, 0, 0, reach, reach, reach]


def made_of(data, blocks):
    """The mjModel of a compiled model as data, and the geoms of the data that those of the model stand for."""
    a, sizes, names = data["arrays"], data["sizes"], data["names"]
    spec = mujoco.MjSpec()
    spec.compiler.degree, spec.compiler.autolimits, spec.compiler.balanceinertia = False, False, False
    spec.compiler.boundmass = spec.compiler.boundinertia = 0
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    name = lambda kind, i: names[kind][i] or f"{kind} {i}"
    bodies, drawn = [spec.worldbody], []
    for i in range(1, sizes["nbody"]):
        b = bodies[a["body_parentid"][i]].add_body(name=name("body", i), pos=a["body_pos"][i], quat=a["body_quat"][i],
                                                   mocap=a["body_mocapid"][i] >= 0)
        b.explicitinertial, b.mass, b.inertia = True, a["body_mass"][i], a["body_inertia"][i]
        b.ipos, b.iquat = a["body_ipos"][i], a["body_iquat"][i]
        b.gravcomp = a["body_gravcomp"][i]
        bodies.append(b)
    for i, body in enumerate(a["jnt_bodyid"]):
        bodies[body].add_joint(name=name("joint", i), type=mujoco.mjtJoint(a["jnt_type"][i]), pos=a["jnt_pos"][i],
                               axis=a["jnt_axis"][i], limited=a["jnt_limited"][i], range=a["jnt_range"][i])
    spec.add_texture(name="tiles", type=mujoco.mjtTexture.mjTEXTURE_2D, builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
                     rgb1=[1, 1, 1], rgb2=[0.7, 0.7, 0.7], width=100, height=100)
    tiles = spec.add_material(name="tiles", texrepeat=[1, 1], texuniform=True)
    tiles.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "tiles"
    hulls = {i: hull["vertices"] for i, hull in enumerate(data.get("hulls", [])) if hull.get("vertices")}
    for i, vertices in hulls.items():
        spec.add_mesh(name=f"mesh {i}", uservert=np.ravel(vertices))
    fields = data.get("hfields", [])
    for i, f in enumerate(fields):
        spec.add_hfield(name=f"hfield {i}", size=f["size"], nrow=f["nrow"], ncol=f["ncol"], userdata=f["data"])
    flat = (mujoco.mjtGeom.mjGEOM_HFIELD, mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_SDF)
    for i, body in enumerate(a["geom_bodyid"]):
        kind = mujoco.mjtGeom(a["geom_type"][i])
        shape = a["geom_dataid"][i]
        solid = kind == mujoco.mjtGeom.mjGEOM_MESH and shape in hulls
        ground = kind == mujoco.mjtGeom.mjGEOM_HFIELD and 0 <= shape < len(fields)
        hidden = kind in flat and not solid and not ground
        if hidden:
            drawn.append(i)
        bodies[body].add_geom(name=name("geom", i), type=mujoco.mjtGeom.mjGEOM_SPHERE if hidden else kind,
                              size=[1e-6] * 3 if hidden else a["geom_size"][i], pos=a["geom_pos"][i],
                              quat=a["geom_quat"][i], group=a["geom_group"][i],
                              meshname=f"mesh {shape}" if solid else "", hfieldname=f"hfield {shape}" if ground else "",
                              material="tiles" if ground or kind == mujoco.mjtGeom.mjGEOM_PLANE else "")
    for i, body in enumerate(a["site_bodyid"]):
        bodies[body].add_site(name=name("site", i), pos=a["site_pos"][i], quat=a["site_quat"][i])
    for i in range(sizes["npair"]):
        spec.add_pair(name=f"pair {i}", geomname1=name("geom", a["pair_geom1"][i]),
                      geomname2=name("geom", a["pair_geom2"][i]))
    for signature in a["exclude_signature"]:
        spec.add_exclude(bodyname1=name("body", signature >> 16), bodyname2=name("body", signature & 0xffff))
    for i, t in enumerate(data.get("tendons", [])):
        tendon = spec.add_tendon(name=f"tendon {i}")
        for joint, coef in zip(t["joints"], t["coefs"]):
            tendon.wrap_joint(name("joint", joint), coef)
        for segment in t.get("segments", []):
            tendon.wrap_pulley(segment["divisor"])
            tendon.wrap_site(name("site", segment["sites"][0]))
            if around := segment.get("wrap"):
                side = around["sidesite"]
                tendon.wrap_geom(name("geom", around["geom"]), name("site", side) if side >= 0 else "")
            tendon.wrap_site(name("site", segment["sites"][1]))
    for i in range(sizes["neq"]):
        kind = {2: "joint", 3: "tendon"}.get(a["eq_type"][i])
        if kind is None:
            raise ValueError(f"equality {i} is of bodies, which the data lacks")
        of = lambda k: "" if k < 0 else name("joint", k) if kind == "joint" else f"tendon {k}"
        spec.add_equality(type=mujoco.mjtEq(a["eq_type"][i]), name1=of(a["eq_obj1id"][i]), name2=of(a["eq_obj2id"][i]))
    for i in range(sizes["nu"]):
        target, over = a["actuator_trnid"][i][0], a["actuator_trntype"][i]
        kind = {0: "joint", 4: "site"}.get(over)
        spec.add_actuator(name=name("actuator", i), trntype=mujoco.mjtTrn(over),
                          dyntype=mujoco.mjtDyn(a["actuator_dyntype"][i]),
                          target=name(kind, target) if kind else f"tendon {target}")
    for i in range(sizes["nkey"]):
        spec.add_key(name=name("key", i), qpos=a["key_qpos"][i], qvel=a["key_qvel"][i], ctrl=a["key_ctrl"][i])
    planes, pairs = add_terrain(spec, a, blocks) if blocks else ([], [])
    m = spec.compile()
    meshes = {i: m.mesh(f"mesh {i}").id for i in hulls}
    for key, value in data["opt"].items():
        if hasattr(m.opt, key):
            setattr(m.opt, key, value)
    for key, value in a.items():
        to, value = getattr(m, key, None), np.array(value)
        if isinstance(to, np.ndarray) and to.size and to.size == value.size:
            to[:] = value.reshape(to.shape)
        elif planes and key.startswith(("geom_", "body_")):  # the boxes come last
            to[:len(value)] = value.reshape(-1, *to.shape[1:])
    m.opt.solver, m.opt.iterations, m.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, max(100, m.opt.iterations), 1e-10
    m.opt.ls_iterations = max(50, m.opt.ls_iterations)
    # The compiler moves a mesh to its centre of mass, and turns it; geoms have the numbers of the data.
    for i, mesh in meshes.items():
        start = m.mesh_vertadr[mesh]
        m.mesh_vert[start:start + m.mesh_vertnum[mesh]] = hulls[i]
    for i, f in enumerate(fields):  # the compiler stretches heights to 0 to 1
        start = m.hfield_adr[m.hfield(f"hfield {i}").id]
        m.hfield_data[start:start + len(f["data"])] = f["data"]
    for i, shape in enumerate(a["geom_dataid"]):
        ground = a["geom_type"][i] == int(mujoco.mjtGeom.mjGEOM_HFIELD) and 0 <= shape < len(fields)
        m.geom_dataid[i] = m.hfield(f"hfield {shape}").id if ground else meshes.get(shape, -1)
    if planes:
        on_terrain(m, a, planes, pairs)
    else:
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE  # whose boxes are those of the compiler
    for own in data.get("muscles", []):
        output = m.actuator_outadr[own["actuator"]]
        m.actuator_lengthrange[output], m.actuator_acc0[output] = own["lengthrange"], own["acc0"]
    for i in drawn:
        m.geom_type[i], m.geom_size[i], m.geom_dataid[i] = mujoco.mjtGeom.mjGEOM_SPHERE, 1e-6, -1
        m.geom_contype[i] = m.geom_conaffinity[i] = 0
    for state in data.get("activations", []):
        i = state["actuator"]
        m.actuator_actlimited[i], m.actuator_actrange[i] = state["limited"], state["range"]
        m.actuator_actearly[i] = state["early"]
    for i, t in enumerate(data.get("tendons", [])):
        m.tendon_length0[i], m.tendon_invweight0[i] = t["length0"], t["invweight0"]
        m.tendon_lengthspring[i], m.tendon_range[i], m.tendon_margin[i] = t["lengthspring"], t["range"], t["margin"]
        m.tendon_solref_lim[i], m.tendon_solref_fri[i] = t["solref"]
        m.tendon_solimp_lim[i], m.tendon_solimp_fri[i] = t["solimp"]
    return m, list(range(len(a["geom_bodyid"]))) + planes


class Shown:
    """The first copy, in a window or as frames."""

    def __init__(self, m, held):
        self.m, self.step, self.window, self.renderer = m, held * m.opt.timestep, None, None
        m.vis.headlight.ambient[:], m.vis.headlight.diffuse[:] = 0.4, 0.6
        m.geom_rgba[m.body_weldid[m.geom_bodyid] > 0] = 0.9, 0.5, 0.2, 1  # the data has no colours

    @staticmethod
    def look(option):
        """Shows what collides, which models have in groups that are hidden: the data has nothing else."""
        option.geomgroup[:], option.sitegroup[:] = 1, 0

    def open(self, d):
        import glfw
        if not glfw.init():
            raise ValueError("there is no screen")
        import mujoco.viewer
        self.window, self.next = mujoco.viewer.launch_passive(self.m, d), time.monotonic()
        with self.window.lock():
            self.look(self.window.opt)

    def sync(self):
        if self.window is None:
            return True
        self.window.sync()
        self.next += self.step
        time.sleep(max(0, self.next - time.monotonic()))
        return self.window.is_running()

    def frame(self, d, width, height):
        if self.renderer is None:
            self.renderer = mujoco.Renderer(self.m, height, width)
            self.camera = mujoco.MjvCamera()
            mujoco.mjv_defaultFreeCamera(self.m, self.camera)
            self.option = mujoco.MjvOption()
            self.look(self.option)
        self.camera.lookat[:] = d.subtree_com[1 if self.m.nbody > 1 else 0]
        self.renderer.update_scene(d, self.camera, self.option)
        return base64.b64encode(np.ascontiguousarray(self.renderer.render()).tobytes()).decode()


def serve(path, copies, held, pairs, terrain):
    with open(path) as file, open(terrain) as blocks:
        m, geoms = made_of(json.load(file), json.load(blocks))
    if (pairs := json.loads(pairs)) is not None:
        only(m, pairs, geoms)
    copies, held = int(copies), int(held)
    data, shown = [mujoco.MjData(m) for _ in range(copies)], Shown(m, held)

    def ask(request):
        if "start" in request:
            rows = [numbers(part, n, copies) for part, n in zip(request["start"], (m.nq, m.nv, m.na))]
            for d, qpos, qvel, act in zip(data, *rows):
                mujoco.mj_resetData(m, d)
                d.qpos[:], d.qvel[:], d.act[:] = qpos, qvel, act
                mujoco.mj_forward(m, d)
            return {}
        if "show" in request:
            shown.open(data[0])
            return {}
        if "render" in request:
            return {"frame": shown.frame(data[0], *request["render"])}
        control = numbers(request["control"], m.nu, copies)
        for d, u in zip(data, control):
            d.ctrl[:] = u
            for _ in range(held):
                mujoco.mj_step(m, d)
        return {"qpos": text([d.qpos for d in data]), "qvel": text([d.qvel for d in data]), "open": shown.sync()}

    print("{}", flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps(ask(json.loads(line))), flush=True)
        except Exception as error:  # such as that of a machine without a screen
            print(json.dumps({"error": "; ".join(str(error).split("\n")) or type(error).__name__}), flush=True)


serve(*sys.argv[2:7])
