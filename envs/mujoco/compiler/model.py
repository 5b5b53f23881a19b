"""Reads an XML with MuJoCo. compile.py, reference.py and peer.py continue this text.

usage: - FOLDERS XML ..., where FOLDERS are those of the packages that Python lacks, as in PYTHONPATH
"""
import json, os, sys, warnings

sys.path[:0] = [folder for folder in sys.argv[1].split(os.pathsep) if folder]
import mujoco
import numpy as np


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
    names = [os.path.basename(m.file) for m in meshes]  # without folders: copies of the model have the same note
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
    if len(names) > 4:
        names[3:] = [f"and {len(names) - 3} more"]
    note = "meshes whose files are missing were left out, as they are only drawn: "
    return [note + ", ".join(names)] if names else []


def read(path):
    """Returns the compiled mjModel and notes."""
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
    return m, notes


def controls(m, random, times):
    """Smooth controls: a sine per actuator in its range."""
    low, high = np.where(m.actuator_ctrllimited[:, None], m.actuator_ctrlrange, [[-1, 1]]).T
    phase, speed = random.uniform(0, 2 * np.pi, m.nu), random.uniform(2, 12, m.nu)
    return (low + high) / 2 + (high - low) / 2 * np.sin(speed * times[:, None] + phase)


def between_links(m, d):
    """The pairs of geoms of the contacts between bodies that can move."""
    return d.contact.geom[(m.body_weldid[m.geom_bodyid[d.contact.geom]] > 0).all(axis=1)]


def only(m, pairs, geoms=None):
    """Lets only these pairs of geoms touch, or of those that they stand for."""
    of = geoms or range(m.ngeom)
    allowed = {tuple(sorted(pair)) for pair in pairs}
    mujoco.set_mjcb_contactfilter(lambda m, d, a, b: tuple(sorted((of[a], of[b]))) not in allowed)
    for k in range(m.npair):
        if tuple(sorted((of[m.pair_geom1[k]], of[m.pair_geom2[k]]))) not in allowed:
            m.pair_margin[k], m.pair_gap[k] = -1e9, 1e9  # without a gap, shapes such as cylinders would seem deeper


def answer(compute):
    """Prints {"value": what a function returns} or {"error": one line}."""
    try:
        text = {"value": compute()}
    except (ValueError, mujoco.FatalError) as error:
        text = {"error": "; ".join(line.strip() for line in str(error).splitlines() if line.strip())}
    print(json.dumps(text, separators=(",", ":"), allow_nan=False))
