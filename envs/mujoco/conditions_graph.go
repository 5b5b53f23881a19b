package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// conditions are what differs from the model; see [algebra.Conditions]. Numbers without rows and nil lists are as
// in the model, and cost nothing.
type conditions struct {
	Gravity           algebra.Num      // one row
	Strength, Gain    []algebra.Num    // of each of [System.drives]
	Mass              []algebra.Num    // of the links of each group
	Center            []algebra.Vector // offsets in the frames of the links of each group
	Damping, Armature []algebra.Num    // of each of [System.dofs]
	Friction          []algebra.Num    // coefficients of the contacts of each of [System.contacts], along both tangents
	Weight            []algebra.Num    // inverse weights of the same contacts
	Terrain           algebra.Num      // of heights, one row
	Shift             [2]algebra.Num   // of the terrain, one row
}

// under lays out conditions.
func (s *System) under(c algebra.Conditions) (u conditions) {
	u.Strength = s.ofDrives(c.Strength)
	u.Gravity, u.Terrain = numOf(c.Gravity), numOf(c.Terrain)
	u.Shift = [2]algebra.Num{numOf(c.TerrainOffset[0]), numOf(c.TerrainOffset[1])}
	m := s.model
	if len(c.Mass) > 0 {
		for _, g := range s.groups {
			u.Mass = append(u.Mass, multipliers(c.Mass, g.body, s.partsOf))
		}
	}
	if len(c.Center) > 0 {
		for _, g := range s.groups {
			u.Center = append(u.Center, s.offsets(c.Center, g.body))
		}
	}
	if len(c.Gain) > 0 {
		joints := s.Actuated()
		for _, d := range s.drives {
			u.Gain = append(u.Gain, multipliers(c.Gain, d.id, func(id int) []string {
				if id < 0 {
					return nil
				}
				return joints[id : id+1]
			}))
		}
	}
	ofJoint := func(dof int) []string { return []string{s.jointName(m.DofJntID[dof])} }
	for _, x := range []struct {
		changes []algebra.Change
		to      *[]algebra.Num
	}{{c.Damping, &u.Damping}, {c.Armature, &u.Armature}} {
		for _, dof := range s.dofs {
			if len(x.changes) > 0 {
				*x.to = append(*x.to, multipliers(x.changes, dof.index, ofJoint))
			}
		}
	}
	for _, set := range s.contacts {
		if len(c.Friction) > 0 {
			by := multipliers(c.Friction, set.geoms, s.geomsOf)
			u.Friction = append(u.Friction, repeatRows(by, set.points))
		}
		if len(c.Mass) > 0 {
			u.Weight = append(u.Weight, s.weightUnder(u, set))
		}
	}
	return u
}

func numOf(x *Node) algebra.Num {
	if x == nil {
		return algebra.Num{}
	}
	return algebra.Num{Rows: 1, Node: x}
}

// multipliers returns the product of the changes of each item, which has names.
func multipliers[T any](changes []algebra.Change, items []T, names func(T) []string) algebra.Num {
	var rows []algebra.Num
	for _, item := range items {
		product := algebra.Constant(1, 1)
		for _, c := range changes {
			if has := names(item); c.Of == "" && has != nil || slices.Contains(has, c.Of) {
				product = product.Times(numOf(c.By))
			}
		}
		rows = append(rows, product)
	}
	return algebra.Concat(rows...)
}

// offsets returns the sum of the offsets of each link, given in the frames of its bodies.
func (s *System) offsets(list []algebra.Offset, links []int) algebra.Vector {
	var rows [3][]algebra.Num
	for _, link := range links {
		sum := zeroVector(1)
		for _, o := range list {
			body := slices.Index(s.BodyNames(), o.Of)
			if o.Of == "" {
				body = link
			}
			if body < 0 || s.model.BodyWeldID[body] != link {
				continue
			}
			by := algebra.Vector{X: numOf(o.By[0]), Y: numOf(o.By[1]), Z: numOf(o.By[2])}
			sum = sum.Plus(s.poses[body].rotation.Rotation().Snap().Of(by))
		}
		for axis := range rows {
			rows[axis] = append(rows[axis], component(sum, axis))
		}
	}
	return algebra.Vector{X: algebra.Concat(rows[0]...), Y: algebra.Concat(rows[1]...), Z: algebra.Concat(rows[2]...)}
}

// partsOf returns the names of the bodies of a link.
func (s *System) partsOf(link int) (parts []string) {
	for b, name := range s.BodyNames() {
		if s.model.BodyWeldID[b] == link {
			parts = append(parts, name)
		}
	}
	return parts
}

// geomsOf returns the names of the geoms of a pair, and of their bodies but the world.
func (s *System) geomsOf(pair [2]int) (parts []string) {
	geoms, bodies := s.GeomNames(), s.BodyNames()
	for _, g := range pair {
		parts = append(parts, geoms[g])
		if body := s.model.GeomBodyID[g]; body > 0 {
			parts = append(parts, bodies[body])
		}
	}
	return parts
}

// GeomNames returns the names of the geoms. Those without a name are called by number.
func (s *System) GeomNames() (all []string) {
	for i, name := range s.model.Names.Geom {
		all = append(all, nameOr(name, "geom", i))
	}
	return all
}

// JointNames returns the names of all joints. Those without a name are called by number.
func (s *System) JointNames() (all []string) {
	for i := range s.model.Names.Joint {
		all = append(all, s.jointName(i))
	}
	return all
}

// weightUnder returns the inverse weights of the contacts of a set: those of each body scale inversely with its mass.
func (s *System) weightUnder(u conditions, set *contactSet) algebra.Num {
	sum := algebra.Constant(len(set.geoms), 0)
	for i, side := range set.sides {
		weight := algebra.ColumnOf(set.geoms, func(pair [2]int) float64 {
			return s.model.BodyInvweight0[s.model.GeomBodyID[pair[i]]][0]
		})
		if side.group != static {
			mass := algebra.Concat(u.Mass...)
			if side.group != anyLink {
				mass = u.Mass[side.group]
			}
			weight = weight.Over(mass.Take(side.link...))
		}
		sum = sum.Plus(weight)
	}
	return repeatRows(sum, set.points)
}

// repeatRows repeats all rows.
func repeatRows(x algebra.Num, times int) algebra.Num {
	rows := make([]int, 0, times*x.Rows)
	for range times {
		for row := range x.Rows {
			rows = append(rows, row)
		}
	}
	return x.Take(rows...)
}

// parametersUnder returns the parameters of the contacts of a set.
func (s *System) parametersUnder(u conditions, set *contactSet) parameters {
	p := set.parameters
	if u.Friction == nil && u.Weight == nil {
		return p
	}
	parts := set.parts
	if parts == nil {
		parts = []*contactSet{set}
	}
	var friction, weight []algebra.Num
	for _, part := range parts {
		i := slices.Index(s.contacts, part)
		if u.Friction != nil {
			friction = append(friction, u.Friction[i])
		}
		if u.Weight != nil {
			weight = append(weight, u.Weight[i])
		}
	}
	if by := algebra.Concat(friction...); by.Rows > 0 && !by.Is(1) {
		for i := range 2 { // against sliding alone
			p.friction[i] = p.friction[i].Times(by).Max(algebra.Constant(by.Rows, leastFriction))
		}
	}
	if weight != nil {
		p.weight = algebra.Concat(weight...)
	}
	return p
}

// of returns a group of links under conditions.
func (u conditions) of(groups []*group, i int) *group {
	g := *groups[i]
	if u.Mass != nil {
		g.mass, g.moments = g.mass.Times(u.Mass[i]), g.moments.By(u.Mass[i])
	}
	if u.Center != nil {
		g.center = g.center.Plus(u.Center[i])
	}
	return &g
}

// rowWeight returns the inverse weight of a joint's constraint, which scales inversely with the mass of the link.
func (s *System) rowWeight(u conditions, r jointRow) algebra.Num {
	if u.Mass == nil {
		return r.weight
	}
	return r.weight.Over(u.Mass[r.group])
}

// damping returns the damping of a dof.
func (s *System) damping(u conditions, column int) algebra.Num {
	d := s.knownDof(column, s.model.DofDamping)
	if u.Damping != nil {
		d = d.Times(u.Damping[column])
	}
	return d
}
