"""Compiles an XML with MuJoCo. Prints {"model": mjModel as data} or {"error": one line}.

usage: compile.py XML [FOLDER OF THE PACKAGE mujoco]
"""
import json, os, sys, warnings

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
    "eq_": "type active0",
    "tendon_": """type stiffness stiffnesspoly springyield damping dampingpoly frictionloss limited armature
        actfrclimited""",
    "sensor_": "type objtype objid reftype refid dim adr cutoff delay",
}


def plain(value):
    """A number, or an array as lists of numbers; flags are 0 and 1."""
    value = np.asarray(value)
    return (value.astype(int) if value.dtype == bool else value).tolist()


def leave_out(spec):
    """Removes what lacks its file and is only drawn from a specification. Returns notes about meshes."""
    paired = {name for p in spec.pairs for name in (p.geomname1, p.geomname2)}

    def missing(folder, file):
        file = os.path.basename(file) if spec.strippath else file
        return file and not os.path.exists(os.path.join(spec.modelfiledir, folder, file))

    def matters(geom):
        """What a geom does besides being seen."""
        if geom.contype or geom.conaffinity or geom.name and geom.name in paired:
            return "collides"
        own = spec.compiler.inertiafromgeom
        low, high = spec.compiler.inertiagrouprange
        if (geom.parent.name != "world" and geom.mass != 0 and geom.density != 0 and low <= geom.group <= high
                and (own == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE or
                     own != mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE and not geom.parent.explicitinertial)):
            return "gives its body mass"

    meshes = [m for m in spec.meshes if missing(m.compiler.meshdir, m.file)]
    files = [m.file for m in meshes]
    for mesh in meshes:
        for geom in [g for g in spec.geoms if g.meshname and g.meshname == mesh.name]:
            if reason := matters(geom):
                raise ValueError(f"the file {mesh.file} of mesh {mesh.name!r} is missing, and the geom {geom.name!r} "
                                 f"of body {geom.parent.name!r} ({geom.info}), which has its shape, {reason}")
            spec.delete(geom)
        spec.delete(mesh)
    for texture in list(spec.textures):
        if any(missing(texture.compiler.texturedir, f) for f in [texture.file, *texture.cubefiles]):
            for material in spec.materials:
                material.textures = ["" if t == texture.name else t for t in material.textures]
            spec.delete(texture)  # without a note: textures are not drawn here
    for skin in [s for s in spec.skins if missing(s.compiler.meshdir, s.file)]:
        spec.delete(skin)
    return ["meshes whose files are missing were left out, as they are only drawn: " + ", ".join(files)] if files else []


def model_of(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes, spec = [], mujoco.MjSpec.from_file(path)
        try:
            m = spec.compile()
        except ValueError as error:
            if "Error opening file" not in str(error):
                raise
            spec = mujoco.MjSpec.from_file(path)
            notes = leave_out(spec)
            m = spec.compile()
    # Each warning, once.
    notes += dict.fromkeys("MuJoCo: " + " ".join(str(w.message).split()) for w in caught)
    arrays = [prefix + name for prefix, names in ARRAYS.items() for name in names.split()]
    return {
        "mujoco": mujoco.__version__,
        **({"notes": notes} if notes else {}),
        "sizes": {name: getattr(m, name) for name in SIZES.split()},
        "opt": {name: plain(getattr(m.opt, name)) for name in OPT.split()},
        "names": {kind: [getattr(m, kind)(i).name for i in range(getattr(m, n))] for kind, n in NAMES.items()},
        "arrays": {name: plain(getattr(m, name)) for name in arrays},
    }


try:
    sys.path[:0] = sys.argv[2:]
    import mujoco
    import numpy as np
    answer = {"model": model_of(sys.argv[1])}
except (ValueError, mujoco.FatalError) as error:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    answer = {"error": "; ".join(lines)}
print(json.dumps(answer, separators=(",", ":"), allow_nan=False))
