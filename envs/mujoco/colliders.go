package mujoco

import "math"

// This file says of which shapes contacts are modelled, and by which rule.

// collision is how the contacts of two shapes are found.
type collision struct {
	points  int
	collide func(c *contactSet, a, b place) []touch
}

// colliders are the rules of two shapes. Contacts of other convex shapes are searched.
var colliders = map[[2]GeomType]collision{
	{Plane, Sphere}:     {1, planeSphere},
	{Plane, Capsule}:    {2, planeCapsule},
	{Plane, Ellipsoid}:  {1, planeEllipsoid},
	{Plane, Cylinder}:   {4, planeCylinder},
	{Plane, Box}:        {4, planeBox},
	{Plane, Mesh}:       {4, planeMesh},
	{HField, Sphere}:    {8, fieldSphere}, // if the sphere is smaller than a cell, see [Model.points]
	{Sphere, Sphere}:    {1, capsules},
	{Sphere, Capsule}:   {1, capsules},
	{Capsule, Capsule}:  {1, capsules},
	{Sphere, Cylinder}:  {1, sphereCylinder},
	{Capsule, Cylinder}: {2, capsuleCylinder},
	{Sphere, Box}:       {1, sphereBox},
	{Capsule, Box}:      {2, capsuleBox},
	{Box, Box}:          {12, boxes},
}

// searched reports whether [convex] finds the contact of two shapes, of which the first may be a prism of a height field.
func searched(shapes [2]GeomType) bool {
	_, ruled := colliders[shapes]
	return !ruled && (shapes[0] >= Sphere || shapes[0] == HField) && shapes[1] <= Mesh
}

// colliderOf returns how contacts of two shapes are found, if they are.
func colliderOf(shapes [2]GeomType) (c collision, known bool) {
	switch {
	case searched(shapes) && shapes[0] == HField:
		return collision{1, fieldConvex}, true
	case searched(shapes):
		return collision{1, convex}, true
	}
	c, known = colliders[shapes]
	return c, known
}

// shapes returns the types of two geoms.
func (m *Model) shapes(geoms [2]int) [2]GeomType {
	return [2]GeomType{m.GeomType[geoms[0]], m.GeomType[geoms[1]]}
}

// collides reports whether the contacts of a pair are modelled.
func (m *Model) collides(p Pair) bool {
	kind := [2]GeomType{m.GeomType[p.Geom1], m.GeomType[p.Geom2]}
	_, known := colliderOf(kind)
	lacks := func(geom int) bool { return m.GeomType[geom] == Mesh && m.hull(geom) == nil }
	return known && !m.byMPR(kind) && !lacks(p.Geom1) && !lacks(p.Geom2) && (kind[0] != HField || m.onField(p))
}

// onField reports whether the contacts of a geom with a height field are modelled: without margins, which MuJoCo adds to
// the heights, and if it does not touch very many cells.
func (m *Model) onField(p Pair) bool {
	const most = 512 // prisms
	margin, _ := m.margins(p)
	return m.field(p.Geom1) != nil && margin == 0 && m.points([2]int{p.Geom1, p.Geom2}) <= most
}

// margins returns the margin and the gap of a pair.
func (m *Model) margins(p Pair) (margin, gap float64) {
	if p.Explicit >= 0 {
		return m.PairMargin[p.Explicit], m.PairGap[p.Explicit]
	}
	return m.GeomMargin[p.Geom1] + m.GeomMargin[p.Geom2], m.GeomGap[p.Geom1] + m.GeomGap[p.Geom2]
}

// field returns the height field of a geom; nil if it is none or the model lacks its data.
func (m *Model) field(geom int) *HeightField {
	if id := m.GeomDataID[geom]; m.GeomType[geom] == HField && id >= 0 && id < len(m.Fields) {
		return &m.Fields[id]
	}
	return nil
}

// byMPR reports whether a flag makes MuJoCo search contacts of two shapes by another method, of which the depths differ.
func (m *Model) byMPR(kind [2]GeomType) bool {
	searches := kind == [2]GeomType{Capsule, Cylinder} || kind[0] == HField || searched(kind)
	return searches && m.Opt.DisableFlags&DisableNativeCCD != 0
}

// hull returns the hull of a geom; nil if it is no mesh or the model lacks its hull.
func (m *Model) hull(geom int) *Hull {
	if id := m.GeomDataID[geom]; m.GeomType[geom] == Mesh && id >= 0 && id < len(m.Hulls) && len(m.Hulls[id].Faces) > 0 {
		return &m.Hulls[id]
	}
	return nil
}

// points is the number of possible contacts of a pair.
func (m *Model) points(geom [2]int) int {
	if field := m.field(geom[0]); field != nil {
		cells := field.cells(m.reach(geom[1]))
		return 2 * cells[0] * cells[1]
	}
	c, _ := colliderOf(m.shapes(geom))
	return c.points
}

// reach is the radius of a ball about the origin of a convex geom that contains it.
func (m *Model) reach(geom int) (radius float64) {
	switch half := m.bounds(geom); m.GeomType[geom] {
	case Sphere, Capsule:
		return half[2]
	case Cylinder:
		return math.Hypot(half[0], half[2])
	case Mesh:
		for _, v := range m.hull(geom).Vertices {
			radius = max(radius, norm(v[:]))
		}
		return radius
	default:
		return norm(half[:])
	}
}

// bounds returns half the sizes of a box about the origin of a convex geom that contains it.
func (m *Model) bounds(geom int) (half [3]float64) {
	size := m.GeomSize[geom]
	switch m.GeomType[geom] {
	case Sphere, Capsule:
		return [3]float64{size[0], size[0], size[0] + size[1]}
	case Cylinder:
		return [3]float64{size[0], size[0], size[1]}
	case Mesh:
		for _, v := range m.hull(geom).Vertices {
			for axis, x := range v {
				half[axis] = max(half[axis], math.Abs(x))
			}
		}
		return half
	}
	return size
}
