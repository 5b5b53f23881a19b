package mujoco

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/lists"
)

// contactSet holds contacts that are computed at once, a row each: pairs of geoms of the same two shapes,
// with as many contacts each as these shapes can have.
type contactSet struct {
	collide func(c *contactSet, a, b place) []touch
	points  int // contacts of each pair
	// onTerrain is the number of blocks of a terrain in a row that the geoms may touch, on the side floor; 0: they are
	// on none.
	onTerrain int
	axial     bool     // the first tangents are near the axes of capsules, rather than MuJoCo's default
	geoms     [][2]int // of each pair
	sides     [2]side
	sizes     [2]algebra.Vector // of the geoms of each pair
	meshes    vertexTable       // those of the second geoms, if they may touch planes
	hull      algebra.Num       // the number of each in this table
	shapes    [2]convexSide     // of pairs of convex shapes
	polytopes *polytopes        // those whose faces have several contacts, if there are any
	apart     algebra.Num       // how far apart faces may be whose contacts these are: margin and gap, of each pair
	bounds    [2]algebra.Vector // half the sizes of boxes that contain these shapes, in their frames
	fields    []*HeightField    // of the first geoms of each pair, if they are height fields
	cells     [2]int            // that a pair touches at most along the axes of such a field
	reach     algebra.Num       // then, or on a terrain, the radii of balls about the origins of the other geoms
	prism     []algebra.Num     // of the first geoms of each pair, if they are prisms of fields that were found before

	dim   int           // 1, 3, 4 or 6; the largest of the pairs, whose friction is 0 where they have fewer
	floor int           // see onTerrain
	near  int           // pairs of boxes of each copy whose contacts are found, the nearest, see [System.found]; 0: all
	rows  int           // contacts of each copy
	parts []*contactSet // whose deepest contacts these are; nil: all are found here
	acts  []algebra.Num // between links: see [System.masks]
	parameters
}

// mover is the side that moves, the second one if both do.
func (c *contactSet) mover() side {
	if c.sides[1].group == static {
		return c.sides[0]
	}
	return c.sides[1]
}

// withWorld reports whether one side cannot move.
func (c *contactSet) withWorld() bool {
	return c.sides[0].group == static || c.sides[1].group == static
}

// convex reports whether a set is of pairs whose contacts [convex] finds.
func (c *contactSet) convex() bool { return len(c.shapes[0].kinds) > 0 }

// searchesPrisms reports whether the first geoms of such pairs are prisms of height fields, a row for each.
func (c *contactSet) searchesPrisms() bool { return c.convex() && len(c.fields) > 0 }

// boxes reports whether a set is of pairs of boxes, the costliest ones.
func (c *contactSet) boxes() bool { return c.points == colliders[[2]GeomType{Box, Box}].points }

// parameters are those of each contact of a set, which are sorted by point, then by pair.
type parameters struct {
	friction [5]algebra.Num // along both tangents, and against turns about the normal and both tangents; 0: none
	margin   algebra.Num    // m
	law      law
	tangent  law // of the tangents of elliptic cones
	weight   algebra.Num
}

func (p *parameters) numbers() []*algebra.Num {
	own := []*algebra.Num{&p.margin, &p.weight}
	for i := range p.friction {
		own = append(own, &p.friction[i])
	}
	return slices.Concat(own, p.law.numbers(), p.tangent.numbers())
}

// side holds the first or the second geoms of pairs of geoms.
type side struct {
	group int // of the links; -1: bodies that cannot move; -2: of any group
	link  []int
	pose  pose  // in the frames of the links, or in the world
	geom  []int // of each pair its geom, numbered in order of appearance; nil if each pair has another one
}

const (
	static  = -1
	anyLink = -2
)

// law is how a constraint's stiffness and damping depend on its violation: solref and solimp.
type law struct {
	stiffness, damping                algebra.Num // K and B
	low, high, width, midpoint, power algebra.Num // of the impedance
	rest                              algebra.Num // 1 - high, if the model is [Model.stiff]
}

func (l *law) numbers() []*algebra.Num {
	return []*algebra.Num{&l.stiffness, &l.damping, &l.low, &l.high, &l.width, &l.midpoint, &l.power, &l.rest}
}

// leastFriction is MuJoCo's least coefficient of friction.
const leastFriction = 1e-5

// geomPair is a pair of geoms that can collide, with its parameters.
type geomPair struct {
	geom           [2]int
	dim            int
	friction       [5]float64
	margin, gap    float64
	solref         [2]float64
	solimp         [5]float64
	solrefFriction [2]float64
}

// parameters returns a pair with its own parameters, or those of both geoms, mixed as MuJoCo does.
func (s *System) parameters(pair Pair) geomPair {
	m := s.model
	if i := pair.Explicit; i >= 0 {
		return geomPair{[2]int{pair.Geom1, pair.Geom2}, m.PairDim[i], m.PairFriction[i], m.PairMargin[i], m.PairGap[i],
			m.PairSolRef[i], m.PairSolImp[i], m.PairSolRefFriction[i]}
	}
	a, b := pair.Geom1, pair.Geom2
	p := geomPair{geom: [2]int{a, b}, dim: m.ConDim(pair)}
	p.margin, p.gap = m.margins(pair)
	friction := m.GeomFriction[a]
	for i, other := range m.GeomFriction[b] {
		friction[i] = max(friction[i], other)
	}
	if m.GeomPriority[a] != m.GeomPriority[b] {
		if m.GeomPriority[b] > m.GeomPriority[a] {
			a = b
		}
		friction = m.GeomFriction[a]
		p.solref, p.solimp = m.GeomSolRef[a], m.GeomSolImp[a]
	} else {
		share := 0.5
		const least = 1e-15
		switch one, other := m.GeomSolMix[a], m.GeomSolMix[b]; {
		case one >= least && other >= least:
			share = one / (one + other)
		case one >= least:
			share = 1
		case other >= least:
			share = 0
		}
		for i := range p.solref {
			one, other := m.GeomSolRef[a][i], m.GeomSolRef[b][i]
			if m.GeomSolRef[a][0] > 0 && m.GeomSolRef[b][0] > 0 {
				p.solref[i] = share*one + (1-share)*other
			} else {
				p.solref[i] = min(one, other)
			}
		}
		for i := range p.solimp {
			p.solimp[i] = share*m.GeomSolImp[a][i] + (1-share)*m.GeomSolImp[b][i]
		}
	}
	p.friction = [5]float64{friction[0], friction[0], friction[1], friction[2], friction[2]}
	return p
}

// prepareContacts groups the pairs of geoms that can collide.
func (s *System) prepareContacts(pairs []Pair) {
	m := s.model
	type key struct {
		shapes   [2]GeomType
		groups   [2]int
		dim      int
		cells    [2]int // of a height field that a geom touches at most
		across   int    // see [contactSet]
		parallel bool   // capsules, see [Model.parallel]
	}
	sets, between := map[key][]geomPair{}, map[int][]*contactSet{}
	var order []key
	boxed := m // on a terrain, planes are boxes
	if s.options.Terrain != nil {
		boxed.GeomType = slices.Clone(m.GeomType)
		for i, kind := range boxed.GeomType {
			if kind == Plane {
				boxed.GeomType[i] = Box
			}
		}
	}
	s.crowded = s.options.crowded || s.crowds(pairs)
	s.noteContacts(pairs)
	for _, pair := range pairs {
		p := s.parameters(pair)
		k := key{shapes: m.shapes(p.geom), dim: p.dim}
		if field := m.field(p.geom[0]); field != nil {
			k.cells = field.cells(m.reach(p.geom[1]))
		}
		groups := func() (all [2]int) {
			for i, g := range p.geom {
				all[i] = s.groupOf(m.link(m.GeomBodyID[g]))
			}
			return all
		}
		if k.groups = groups(); s.options.Terrain != nil && k.shapes[0] == Plane {
			found, _ := colliderOf(k.shapes)
			s.landing = append(s.landing, s.contactSet(m, found, k.groups, []geomPair{p}))
			k.across = s.options.Terrain.across(m.reach(p.geom[1]))
			if k.shapes[1] <= Capsule { // which come before boxes
				p.geom = [2]int{p.geom[1], p.geom[0]}
			}
			k.shapes, k.groups = boxed.shapes(p.geom), groups()
		}
		k.parallel = k.shapes == [2]GeomType{Capsule, Capsule} && m.parallel(p.geom)
		boxes := k.shapes == [2]GeomType{Box, Box}
		if !slices.Contains(k.groups[:], static) || s.crowded && k.across == 0 || searched(k.shapes) || k.across > 0 && boxes {
			for i := range k.groups {
				if k.groups[i] != static {
					k.groups[i] = anyLink
				}
			}
			k.dim = min(k.dim, 3) // those of 4 and 6 are with those of 3
			if k.shapes[0] >= Sphere && k.shapes[1] <= Capsule {
				k.shapes = [2]GeomType{Capsule, Capsule} // a sphere is one without length
			}
			if searched(k.shapes) { // in one loop, which compiles sooner
				k.shapes[1] = Mesh
				if k.shapes[0] != HField {
					k.shapes[0] = Mesh
				}
			}
		}
		if len(sets[k]) == 0 {
			order = append(order, k)
		}
		sets[k] = append(sets[k], p)
	}
	for _, k := range order {
		list := sets[k]
		found, _ := colliderOf(k.shapes)
		slots := s.slots(list)
		slices.SortStableFunc(list, func(a, b geomPair) int { return slots[a.geom] - slots[b.geom] })
		if k.shapes == [2]GeomType{Capsule, Cylinder} && m.Opt.DisableFlags&DisableMultiCCD != 0 {
			found = collision{1, sphereCylinder} // of the capsule's nearest point alone
		}
		if k.parallel {
			found = collision{2, parallelCapsules}
		}
		if k.shapes == [2]GeomType{Mesh, Mesh} && slices.ContainsFunc(list, s.spreads) {
			found.points = faceContacts
		}
		if k.shapes[0] == HField && searched(k.shapes) {
			list = slices.Repeat(list, m.points(list[0].geom))
		} else if k.shapes[0] == HField {
			found.points = m.points(list[0].geom)
		}
		of := m
		if k.across > 0 {
			of, list = boxed, slices.Repeat(list, k.across*k.across)
		}
		set := s.contactSet(of, found, k.groups, list)
		set.cells, set.onTerrain, set.axial = k.cells, k.across, k.shapes == [2]GeomType{Plane, Capsule}
		if k.across > 0 {
			set.floor = slices.IndexFunc(list[0].geom[:], func(geom int) bool { return m.GeomType[geom] == Plane })
			set.reach = algebra.ColumnOf(list, func(p geomPair) float64 { return m.reach(p.geom[1-set.floor]) })
		}
		s.contacts = append(s.contacts, set)
		if slices.Contains(k.groups[:], anyLink) {
			between[k.dim] = append(between[k.dim], set)
		} else {
			s.acting = append(s.acting, set)
		}
	}
	for _, dim := range []int{1, 3} {
		if len(between[dim]) > 0 {
			s.selected = append(s.selected, s.selection(between[dim]))
		}
	}
	// In parts the Panda compiles in a third of the time, and steps as fast. Unitree's G1 compiles in a quarter of 320 s
	// of processor time, and takes 1.6 times as long to step.
	s.parted = s.parted || s.crowded || s.searchesFaces() || len(s.selected) > 0 && m.Sizes.NV > 24
	s.parted = s.parted || slices.ContainsFunc(s.contacts, func(c *contactSet) bool { return c.onTerrain > 0 && c.near > 0 })
}

// noteContacts notes pairs whose contacts differ from MuJoCo's.
func (s *System) noteContacts(pairs []Pair) {
	onFields := 0
	for _, p := range pairs {
		if kind := s.model.shapes([2]int{p.Geom1, p.Geom2}); kind[0] == HField && kind[1] >= Box {
			onFields++
		}
	}
	if onFields > 0 {
		s.notes = append(s.notes, fmt.Sprintf("contacts of %d pairs of a height field with a box or a mesh are deeper than in "+
			"MuJoCo 4.0, which ends its search for them too early unless there is a margin: --verify gives it 1e-12 m", onFields))
	}
}

// crowds reports whether contacts between links have far more rows than there are dofs, as those of hands, or whether a
// link has many possible contacts with what cannot move. Then the latter are among those that are visited, and the Newton
// system is solved as a dense matrix: updates of a factor's inverse by so many rows take longer.
func (s *System) crowds(pairs []Pair) bool {
	m, dim, count, withWorld := s.model, 0, map[int]int{}, map[int]int{}
	fixed := func(geom int) bool { return m.link(m.GeomBodyID[geom]) == 0 }
	for _, pair := range pairs {
		p := s.parameters(pair)
		if points := m.points(p.geom); !fixed(p.geom[0]) && !fixed(p.geom[1]) {
			count[min(p.dim, 3)] += points
			dim = max(dim, p.dim)
		} else if s.options.Terrain == nil || m.GeomType[p.geom[0]] != Plane {
			withWorld[s.moving(p)] += points
		}
	}
	for _, points := range withWorld {
		if points > s.worldContacts() {
			return true
		}
	}
	return s.equalities()+min(count[1], s.LinkContacts())+min(count[3], s.LinkContacts())*dim > 4*m.Sizes.NV
}

// joined is a set of contacts of some sets, with the parameters of all of them.
func joined(parts []*contactSet) *contactSet {
	set := &contactSet{parts: parts}
	for _, part := range parts {
		set.dim = max(set.dim, part.dim)
	}
	for i, number := range set.numbers() {
		var all []algebra.Num
		for _, part := range parts {
			all = append(all, *part.numbers()[i])
		}
		*number = algebra.Concat(all...)
	}
	return set
}

// worldContacts is the largest number of contacts with what cannot move that act at a time, if those are visited. The boxes
// of a link and those of a scene soon have a thousand possible ones, but few of them touch.
func (s *System) worldContacts() int { return cmp.Or(s.options.worldContacts, 24) }

// selection is the set of the deepest contacts between links of some sets, and with what cannot move if that is crowded.
func (s *System) selection(parts []*contactSet) *contactSet {
	set := joined(parts)
	var links [2][]int
	for _, part := range parts {
		for i, side := range part.sides {
			of := side.link
			if side.group == static {
				of = slices.Repeat([]int{-1}, len(part.geoms))
			}
			links[i] = append(links[i], slices.Repeat(of, part.points)...)
		}
	}
	most := s.LinkContacts()
	if slices.ContainsFunc(parts, (*contactSet).withWorld) {
		most += s.worldContacts()
	}
	set.acts, set.rows = s.masks(links[1], links[0]), min(most, set.margin.Rows)
	for _, part := range parts {
		// More pairs than touch, since boxes that overlap along their faces may be apart along their edges.
		near := max(24, s.LinkContacts()/2)
		if part.withWorld() {
			near = s.worldContacts()
		}
		if part.searchesPrisms() { // all that are below a foot touch it
			near = 2 * s.worldContacts()
		}
		if part.boxes() || part.convex() {
			part.near = min(near, len(part.geoms))
		}
	}
	if set.rows < set.margin.Rows {
		kind := "with friction"
		if set.dim == 1 {
			kind = "without friction"
		}
		with := "between links"
		if slices.ContainsFunc(parts, (*contactSet).withWorld) {
			with += " or with what cannot move"
		}
		s.notes = append(s.notes, fmt.Sprintf("of %d possible contacts %s %s, the %d deepest act at a time", set.margin.Rows,
			kind, with, set.rows))
	}
	return set
}

// LinkContacts is the largest number of contacts between links that act at a time, see [Options].
func (s *System) LinkContacts() int {
	const least, most = 12, 48
	if limit := s.options.LinkContacts; limit > 0 {
		return limit
	}
	return min(max(least, (5*s.model.LinkContacts+3)/4), most)
}

// slots returns how many pairs of a list come before each that have the same moving body. Pairs that are sorted by slots
// are aligned with the rows of their group.
func (s *System) slots(list []geomPair) map[[2]int]int {
	slots, next := map[[2]int]int{}, map[int]int{}
	for _, p := range list {
		moving := s.moving(p)
		if _, known := slots[p.geom]; !known {
			slots[p.geom] = next[moving]
		}
		next[moving]++
	}
	return slots
}

// moving is the link of a pair that moves, the later one if both do.
func (s *System) moving(p geomPair) int {
	m := s.model
	return max(m.link(m.GeomBodyID[p.geom[0]]), m.link(m.GeomBodyID[p.geom[1]]))
}

// groupOf returns the group of a link, or static.
func (s *System) groupOf(link int) int {
	return slices.IndexFunc(s.groups, func(g *group) bool { return slices.Contains(g.body, link) })
}

func (s *System) contactSet(m Model, c collision, groups [2]int, list []geomPair) *contactSet {
	set := &contactSet{collide: c.collide, points: c.points, rows: c.points * len(list)}
	all := s.allLinks()
	for _, p := range list {
		set.geoms, set.dim = append(set.geoms, p.geom), max(set.dim, p.dim)
		if field := m.field(p.geom[0]); field != nil {
			set.fields = append(set.fields, field)
		}
	}
	if m.shapes(list[0].geom) == [2]GeomType{Plane, Mesh} {
		set.hull = set.meshes.numbers(&m, lists.Map(list, func(p geomPair) int { return p.geom[1] }))
	}
	if len(set.fields) > 0 {
		set.reach = algebra.ColumnOf(list, func(p geomPair) float64 { return m.reach(p.geom[1]) })
	}
	for i := range set.sides {
		side := side{group: groups[i]}
		var at []pose
		var distinct []int
		for _, p := range list {
			g := p.geom[i]
			if !slices.Contains(distinct, g) {
				distinct = append(distinct, g)
			}
			side.geom = append(side.geom, slices.Index(distinct, g))
			link := m.link(m.GeomBodyID[g])
			switch side.group {
			case static:
			case anyLink:
				side.link = append(side.link, slices.Index(all, link))
			default:
				side.link = append(side.link, slices.Index(s.groups[side.group].body, link))
			}
			own := pose{algebra.Vectors(m.GeomPos[g]), algebra.KnownQuaternion(m.GeomQuat[g])}
			at = append(at, s.poses[m.GeomBodyID[g]].then(own))
		}
		if len(distinct) == len(list) {
			side.geom = nil
		}
		side.pose = stackPoses(at)
		set.sides[i] = side
		set.sizes[i] = algebra.VectorsOf(list, func(p geomPair) [3]float64 { return m.GeomSize[p.geom[i]] })
	}
	if searched(m.shapes(list[0].geom)) {
		for i := range set.shapes {
			var geoms []int
			for _, p := range list {
				geoms = append(geoms, p.geom[i])
			}
			set.shapes[i], set.bounds[i] = m.convexSide(geoms), algebra.VectorsOf(geoms, m.bounds)
		}
		if c.points == faceContacts {
			s.prepareFaces(set, list)
		}
	}
	set.apart = algebra.ColumnOf(list, func(p geomPair) float64 { return p.margin + p.gap })
	list = slices.Repeat(list, c.points)
	for i := range set.friction {
		set.friction[i] = algebra.ColumnOf(list, func(p geomPair) float64 {
			if i >= max(p.dim, 3)-1 {
				return 0
			}
			return max(leastFriction, p.friction[i])
		})
	}
	set.margin = algebra.ColumnOf(list, func(p geomPair) float64 { return p.margin })
	solimp := func(p geomPair) [5]float64 { return p.solimp }
	set.law = lawOf(s, list, func(p geomPair) [2]float64 { return p.solref }, solimp)
	set.tangent = lawOf(s, list, func(p geomPair) [2]float64 {
		if p.solrefFriction != ([2]float64{}) {
			return p.solrefFriction
		}
		return p.solref
	}, solimp)
	set.weight = algebra.ColumnOf(list, func(p geomPair) float64 {
		return m.BodyInvweight0[m.GeomBodyID[p.geom[0]]][0] + m.BodyInvweight0[m.GeomBodyID[p.geom[1]]][0]
	})
	return set
}

// allLinks lists the links of all groups.
func (s *System) allLinks() (list []int) {
	for _, g := range s.groups {
		list = append(list, g.body...)
	}
	return list
}

// lawOf computes the known numbers of a constraint's law; see section 2.9 of MuJoCo's solver parameters.
func lawOf[T any](s *System, list []T, solref func(T) [2]float64, solimp func(T) [5]float64) (l law) {
	rows := make([][8]float64, len(list))
	for i, item := range list {
		ref, imp := solref(item), solimp(item)
		for _, k := range []int{0, 1, 3} {
			imp[k] = min(max(imp[k], 1e-4), 0.9999)
		}
		low, high, width := imp[0], imp[1], imp[2]
		stiffness, damping := -ref[0]/(high*high), -ref[1]/high
		if time := ref[0]; time > 0 {
			if s.model.Opt.DisableFlags&DisableRefSafe == 0 {
				time = max(time, 2*s.model.Opt.TimeStep)
			}
			stiffness, damping = 1/math.Pow(high*time*ref[1], 2), 2/(high*time)
		}
		if low == high || width <= 1e-15 { // the impedance is constant
			low, high, width = (low+high)/2, (low+high)/2, 1
		}
		rows[i] = [8]float64{stiffness, damping, low, high, width, imp[3], max(imp[4], 1), 1 - high}
	}
	for k, number := range l.numbers() {
		if number != &l.rest || s.model.stiff() {
			*number = algebra.ColumnOf(rows, func(row [8]float64) float64 { return row[k] })
		}
	}
	return l
}

// stiff reports whether float32 rounds 1 - d away of some impedances d.
func (m *Model) stiff() bool {
	return slices.ContainsFunc(slices.Concat(m.GeomSolImp, m.PairSolImp, m.JntSolImp, m.DofSolImp, m.EqSolImp),
		func(solimp [5]float64) bool { return solimp[1] > 0.99 })
}
