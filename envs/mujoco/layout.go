package mujoco

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/qdnb/envs/algebra"
)

// A link is a body with joints and the bodies that are welded to it. Links of the same structure (the
// same joints, and the same joints below) form a group: a row each, so that all of them are computed at
// once. The parents of a group's links are the rows of one other group, or the world.

// group holds links of the same structure, one row per link.
type group struct {
	body      []int // of each row: the body with the joints
	parent    int   // index of the parents' group, -1 for the world
	parentRow []int // the row of each link's parent
	depth     int

	position algebra.Vector     // of the bodies in their parents' frames, before the joints
	rotation algebra.Rotation   // of the bodies in their parents' frames
	turn     algebra.Quaternion // likewise
	joints   []joint

	mass      algebra.Num
	center    algebra.Vector   // centre of mass in the link's frame
	principal algebra.Rotation // axes of inertia in the link's frame, by columns
	moments   algebra.Vector   // kg m^2

	refers bool           // whether the links have references of their own, see [System.refer]
	anchor algebra.Vector // in the links' frames: these, or their positions
}

// joint is a joint of each link of a group.
type joint struct {
	kind     JointType
	id       []int          // in the model, of each row
	position algebra.Vector // of the anchor, in the link's frame
	axis     algebra.Vector // in the link's frame
	column   int            // the first of its dofs
	place    int            // the first of its positions
}

// element is a dof or a position of each link of a group.
type element struct {
	group int
	index []int // in qvel or qpos, of each row
}

// pose is the place of a body in the frame of its link, or in the world.
type pose struct {
	position algebra.Vector
	rotation algebra.Quaternion
}

// rows returns the number of links of a group.
func (g *group) rows() int { return len(g.body) }

// layOut groups the links of a model.
func (s *System) layOut() {
	m := s.model
	s.poses = make([]pose, m.Sizes.NBody)
	children := map[int][]int{} // the links below each link, and below the world
	for b := range m.Sizes.NBody {
		own := pose{algebra.Vectors(m.BodyPos[b]), algebra.KnownQuaternion(m.BodyQuat[b])}
		if b > 0 && m.BodyJntNum[b] == 0 { // welded
			own = s.poses[m.BodyParentID[b]].then(own)
		} else if b > 0 {
			parent := m.link(m.BodyParentID[b])
			children[parent] = append(children[parent], b)
			own = pose{algebra.Vectors([3]float64{}), algebra.KnownQuaternion([4]float64{1})}
		}
		s.poses[b] = own
	}
	var structure func(link int) string
	structure = func(link int) string {
		var below []string
		for _, child := range children[link] {
			below = append(below, structure(child))
		}
		slices.Sort(below)
		first := m.BodyJntAdr[link]
		return fmt.Sprint(m.JntType[first:first+m.BodyJntNum[link]], below)
	}
	// add makes the groups of links below the links of a group, in whose order parents lists them.
	var add func(parent int, parents []int)
	add = func(parent int, parents []int) {
		type child struct {
			body, parentRow, slot int
			structure             string
		}
		var list []child
		for row, link := range parents {
			slots := map[string]int{}
			for _, body := range children[link] {
				kind := structure(body)
				list = append(list, child{body, row, slots[kind], kind})
				slots[kind]++
			}
		}
		// The rows of a slot are aligned with the rows of the parents.
		slices.SortStableFunc(list, func(a, b child) int {
			return cmp.Or(strings.Compare(a.structure, b.structure), a.slot-b.slot)
		})
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n].structure == list[0].structure {
				n++
			}
			g := group{parent: parent}
			if parent >= 0 {
				g.depth = s.groups[parent].depth + 1
			}
			for _, c := range list[:n] {
				g.body, g.parentRow = append(g.body, c.body), append(g.parentRow, c.parentRow)
			}
			list = list[n:]
			s.groups = append(s.groups, s.prepare(g))
			add(len(s.groups)-1, g.body)
		}
	}
	add(-1, []int{0})
	s.refer()
}

// prepare sets the known numbers of a group.
func (s *System) prepare(g group) *group {
	m, index := s.model, len(s.groups)
	n := g.rows()
	var from []pose
	for _, b := range g.body {
		parent := pose{algebra.Vectors([3]float64{}), algebra.KnownQuaternion([4]float64{1})}
		if p := m.BodyParentID[b]; m.BodyJntNum[b] > 1 || m.JntType[m.BodyJntAdr[b]] != Free {
			parent = s.poses[p].then(pose{algebra.Vectors(m.BodyPos[b]), algebra.KnownQuaternion(m.BodyQuat[b])})
		}
		from = append(from, parent)
	}
	at := stackPoses(from)
	g.position, g.rotation, g.turn = at.position, at.rotation.Rotation().Snap(), at.rotation
	for k := range m.BodyJntNum[g.body[0]] {
		j := joint{kind: m.JntType[m.BodyJntAdr[g.body[0]]+k], column: len(s.dofs), place: len(s.places)}
		for _, b := range g.body {
			j.id = append(j.id, m.BodyJntAdr[b]+k)
		}
		j.position = algebra.VectorsOf(j.id, func(id int) [3]float64 { return m.JntPos[id] })
		j.axis = algebra.VectorsOf(j.id, func(id int) [3]float64 { return m.JntAxis[id] })
		for i := range j.kind.Dofs() {
			dof := element{index, make([]int, n)}
			for row, id := range j.id {
				dof.index[row] = m.JntDofAdr[id] + i
			}
			s.dofs = append(s.dofs, dof)
		}
		for i := range j.kind.Positions() {
			place := element{index, make([]int, n)}
			for row, id := range j.id {
				place.index[row] = m.JntQPosAdr[id] + i
			}
			s.places = append(s.places, place)
		}
		g.joints = append(g.joints, j)
	}
	s.weigh(&g)
	return &g
}

// then returns the pose of b, which is given in the frame of a, in the frame of a's parent.
func (a pose) then(b pose) pose {
	turn := a.rotation.Rotation().Snap()
	return pose{a.position.Plus(turn.Of(b.position)), a.rotation.Times(b.rotation)}
}

// stackPoses makes known poses the rows of one.
func stackPoses(list []pose) (out pose) {
	out.position = algebra.VectorsOf(list, func(p pose) [3]float64 { return host(p.position) })
	for k, entry := range []*algebra.Num{&out.rotation.W, &out.rotation.X, &out.rotation.Y, &out.rotation.Z} {
		*entry = algebra.ColumnOf(list, func(p pose) float64 {
			q := p.rotation
			return []algebra.Num{q.W, q.X, q.Y, q.Z}[k].Known[0]
		})
	}
	return out
}
