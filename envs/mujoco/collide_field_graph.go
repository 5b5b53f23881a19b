package mujoco

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// cells returns how many columns of cells, and how many rows of them, a ball touches at most.
func (f *HeightField) cells(radius float64) [2]int {
	x, y := f.steps()
	return [2]int{int(min(1+math.Ceil(2*radius/x), float64(f.Cols-1))), int(min(1+math.Ceil(2*radius/y), float64(f.Rows-1)))}
}

// steps are the sizes of a cell along x and y, in m.
func (f *HeightField) steps() (x, y float64) {
	return 2 * f.Size[0] / float64(f.Cols-1), 2 * f.Size[1] / float64(f.Rows-1)
}

// prismTable has two rows for each cell of some fields, one for each of its prisms: the x and y of the corner between the
// short sides of its top, each as a number and what rounding left of it, its height, and how much higher the corners along
// x and y are. first is the first row of each field.
func prismTable(fields []*HeightField) (rows [][]float32, first []float64) {
	begins := map[*HeightField]float64{}
	for _, f := range fields {
		if _, known := begins[f]; !known {
			begins[f] = float64(len(rows))
			stepX, stepY := f.steps()
			height := func(row, column int) float64 { return f.Data[row*f.Cols+column] * f.Size[2] }
			for r := range f.Rows - 1 {
				for c := range f.Cols - 1 {
					for _, corner := range [][2]int{{r + 1, c}, {r, c + 1}} {
						row, column := corner[0], corner[1]
						var numbers []float32
						for _, x := range []float64{stepX*float64(column) - f.Size[0], stepY*float64(row) - f.Size[1]} {
							numbers = append(numbers, float32(x), float32(x-float64(float32(x))))
						}
						own := height(row, column)
						rows = append(rows, append(numbers, float32(own), float32(height(row, 2*c+1-column)-own),
							float32(height(2*r+1-row, column)-own)))
					}
				}
			}
		}
		first = append(first, begins[f])
	}
	return rows, first
}

// prisms are those of height fields that geoms may touch: of their first cells, then of the next ones. Each cell has two,
// below its halves, of which the second is the first, turned about the vertical axis.
type prisms struct {
	Corner  algebra.Vector // between the short sides of the top, in the frame of the field, from what places are relative to
	Size    prism
	Turned  algebra.Num    // 1, or -1 if it is turned
	Touched []algebra.Mask // of both prisms of each cell: whether the ball about a geom reaches it
}

// pairs is the number of pairs of a height field with a geom, each of which has as many rows or contacts as it has prisms.
func (c *contactSet) pairs() int { return len(c.geoms) * c.points / (2 * c.cells[0] * c.cells[1]) }

// prisms returns those that geoms at a place may touch.
func (c *contactSet) prisms(a, b place) (p prisms) {
	// In the frame of the field: the point near the geom that places are relative to, and the geom relative to it.
	// Their sum is rounded, as coarsely as the field is large.
	near, center := inverse(a.turn, a.position.Neg()).Materialize(), inverse(a.turn, b.position).Materialize()
	fields := c.fields[:center.X.Rows]
	column := func(of func(f *HeightField) float64) algebra.Num { return algebra.ColumnOf(fields, of) }
	stepX := column(func(f *HeightField) float64 { x, _ := f.steps(); return x })
	stepY := column(func(f *HeightField) float64 { _, y := f.steps(); return y })
	columns := column(func(f *HeightField) float64 { return float64(f.Cols - 1) })
	lines := column(func(f *HeightField) float64 { return float64(f.Rows - 1) })
	table, first := prismTable(fields)
	g, copies := sizeOf(append(a.numbers(), b.numbers()...))
	zero, radius := center.X.Zero(), c.reach.Slice(0, center.X.Rows)
	// cell returns the k-th cell that the ball about the geom touches along an axis, of n, and whether there is one.
	cell := func(k int, x, step, n algebra.Num) (algebra.Num, algebra.Mask) {
		low := x.Minus(radius).Over(step).Floor().Max(zero)
		high := x.Plus(radius).Over(step).Neg().Floor().Neg().Min(n)
		at := low.Add(float64(k)).Materialize()
		return at.Min(n.Add(-1)).Materialize(), at.Less(high)
	}
	x := near.X.Plus(center.X).Plus(column(func(f *HeightField) float64 { return f.Size[0] })).Materialize()
	y := near.Y.Plus(center.Y).Plus(column(func(f *HeightField) float64 { return f.Size[1] })).Materialize()
	var indices []*Node // rows of the table, of all prisms
	for i := range c.cells[0] {
		column, across := cell(i, x, stepX, columns)
		for j := range c.cells[1] {
			row, along := cell(j, y, stepY, lines)
			index := algebra.Known(first...).Plus(row.Times(columns).Plus(column).Scale(2)).Spread(g, copies)
			p.Touched, indices = append(p.Touched, across.And(along)), append(indices, index, AddScalar(index, 1))
		}
	}
	n := len(indices)
	all := func(x algebra.Num) algebra.Num { return repeated(x, n) }
	found := Gather(Const(g, table), InsertAxes(ConvertDType(Concatenate(indices, 0), dtypes.Int32), -1))
	number := func(i int) algebra.Num {
		return algebra.Num{Rows: n * x.Rows, Node: Reshape(Slice(found, AxisRange(), AxisElem(i)), -1)}.Materialize()
	}
	var signs []float64
	for i := range n * x.Rows {
		signs = append(signs, float64(1-i/x.Rows%2*2))
	}
	p.Turned = algebra.Known(signs...)
	from := func(near, corner, rest algebra.Num) algebra.Num {
		return corner.Minus(all(near)).Materialize().Plus(rest).Materialize()
	}
	height, depth := number(4), column(func(f *HeightField) float64 { return f.Size[3] })
	p.Corner = algebra.Vector{X: from(near.X, number(0), number(1)), Y: from(near.Y, number(2), number(3)),
		Z: from(near.Z, height, height.Zero())}
	p.Size = prism{all(stepX), all(stepY), number(5), number(6), all(depth).Plus(height).Neg()}
	return p
}

// repeated returns the rows of a number n times.
func repeated(x algebra.Num, n int) algebra.Num {
	return algebra.Concat(slices.Repeat([]algebra.Num{x}, n)...)
}

// fieldSphere finds the contacts of a sphere with a height field: one with each prism that it may touch
// (mjc_ConvexHField).
func fieldSphere(c *contactSet, a, b place) (out []touch) {
	p, radius := c.prisms(a, b), c.sizes[1].X
	rows, n := radius.Rows, 2*len(p.Touched)
	none := algebra.Constant(rows, far)
	center := inverse(a.turn, b.position).Materialize()
	center = center.Each(func(x algebra.Num) algebra.Num { return repeated(x, n) }).Minus(p.Corner).Materialize()
	center.X, center.Y = center.X.Times(p.Turned), center.Y.Times(p.Turned).Neg()
	distances, normals := p.Size.ball(center)
	normals.X, normals.Y = normals.X.Times(p.Turned), normals.Y.Times(p.Turned).Neg()
	for i := range n {
		take := func(of algebra.Num) algebra.Num { return of.Slice(i*rows, rows) }
		normal := a.turn.Of(normals.Each(take)).Materialize()
		distance := p.Touched[i/2].Choose(take(distances).Minus(radius), none).Materialize()
		out = append(out, touch{distance: distance, normal: normal,
			point: b.position.Minus(normal.By(radius.Plus(distance.Scale(0.5))))})
	}
	return out
}

// fieldConvex searches the contact of another convex shape with a prism of a height field. Each pair has a row for each
// prism that it may touch.
func fieldConvex(c *contactSet, a, b place) []touch {
	if len(c.prism) == 0 { // else they were found before
		one := *c
		a, one.sizes[0], one.prism = c.prismBoxes(a, b)
		c = &one
	}
	return convex(c, a, b)
}

// prismBoxes returns the boxes about the prisms of a height field that geoms may touch, one for each row: their places and
// half their sizes; and the prisms in them: by how much their corners are below the tops, and whether they are turned.
func (c *contactSet) prismBoxes(a, b place) (at place, half algebra.Vector, prism []algebra.Num) {
	first := func(p place) place {
		take := func(x algebra.Num) algebra.Num { return x.Slice(0, c.pairs()) }
		return place{p.position.Each(take), algebra.Rotation{X: p.turn.X.Each(take), Y: p.turn.Y.Each(take),
			Z: p.turn.Z.Each(take)}}
	}
	p := c.prisms(first(a), first(b))
	size, zero := p.Size, p.Turned.Zero()
	top := size.upX.Max(size.upY).Max(zero).Materialize()
	half = algebra.Vector{X: size.alongX, Y: size.alongY, Z: top.Minus(size.bottom)}.Scale(0.5).Materialize()
	center := p.Corner.Plus(algebra.Vector{X: half.X.Times(p.Turned), Y: half.Y.Times(p.Turned).Neg(),
		Z: size.bottom.Plus(half.Z)}).Materialize()
	var touched []algebra.Num
	for _, mask := range p.Touched {
		touched = append(touched, mask.Number(), mask.Number())
	}
	center.Z = center.Z.Plus(algebra.Concat(touched...).Add(-1).Scale(1000 * far)).Materialize()
	return place{a.turn.Of(center).Materialize(), a.turn}, half,
		[]algebra.Num{top, top.Minus(size.upX).Materialize(), top.Minus(size.upY).Materialize(), p.Turned}
}

// top returns the corners of the top of a prism of a height field, in its frame: that between the short sides, that along
// x, and that along y.
func (s solid) top() (corners [3]algebra.Vector) {
	x, y := s.Size.X.Times(s.Prism[3]), s.Size.Y.Times(s.Prism[3])
	for i, side := range [3][2]algebra.Num{{x.Neg(), y}, {x, y}, {x.Neg(), y.Neg()}} {
		corners[i] = algebra.Vector{X: side[0], Y: side[1], Z: s.Size.Z.Minus(s.Prism[i])}.Materialize()
	}
	return corners
}

// faces returns the directions of the faces of a prism that are along no axis, and the edges of its top.
func (s solid) faces() (faces, edges []algebra.Vector) {
	top := s.top()
	edges = []algebra.Vector{top[1].Minus(top[0]), top[2].Minus(top[0]), top[2].Minus(top[1])}
	slanted := algebra.Vector{X: top[0].Y, Y: top[0].X, Z: s.Center.Z}
	return []algebra.Vector{normalized(edges[1].Cross(edges[0])), normalized(slanted)}, edges
}

// supportPrism is support of a prism, in its frame.
func (s solid) supportPrism(d algebra.Vector) (farthest algebra.Vector) {
	var most algebra.Num
	for i, corner := range s.top() {
		corner.Z = d.Z.Below(0).Choose(s.Size.Z.Neg(), corner.Z).Materialize()
		along := corner.Dot(d).Materialize()
		if i == 0 {
			farthest, most = corner, along
			continue
		}
		farther := most.Less(along)
		farthest, most = farther.ChooseVector(corner, farthest).Materialize(), farther.Choose(along, most).Materialize()
	}
	return farthest
}

// prism is a solid with vertical sides below a triangle with a corner at the origin. From there, two sides run along x and
// y if seen from above.
type prism struct {
	alongX, alongY algebra.Num // lengths of these sides, seen from above
	upX, upY       algebra.Num // heights of their ends
	bottom         algebra.Num
}

// ball returns the distance of a point from the surface, below 0 inside, and the direction from the nearest point of the
// surface to it, or outwards.
func (p prism) ball(at algebra.Vector) (distance algebra.Num, normal algebra.Vector) {
	zero := at.X.Zero()
	one := algebra.Constant(at.X.Rows, 1)
	vector := func(x, y, z algebra.Num) algebra.Vector { return algebra.Vector{X: x, Y: y, Z: z} }
	share := func(x algebra.Num) algebra.Num { return clip(x, limits{zero, one}).Materialize() }
	origin, endX, endY := vector(zero, zero, zero), vector(p.alongX, zero, p.upX), vector(zero, p.alongY, p.upY)
	up := endX.Cross(endY).Materialize()
	up = up.Over(up.Dot(up).Sqrt()).Materialize()
	above := at.Dot(up).Materialize()
	foot := at.Minus(up.By(above)).Materialize()
	beyond := func(v algebra.Vector) algebra.Num {
		return v.X.Over(p.alongX).Plus(v.Y.Over(p.alongY)).Add(-1).Materialize()
	}
	within := func(v algebra.Vector) algebra.Mask { return v.X.Min(v.Y).Min(beyond(v).Neg()).Below(0) } // its inverse
	outside := within(at).Or(above.Above(0))

	// Outside, the nearest point is on the top, its edges, or a side that faces the point.
	nearest := foot
	least := within(foot).Choose(algebra.Constant(at.X.Rows, huge), above.Square()).Materialize()
	or := func(candidate algebra.Vector) {
		candidate = candidate.Materialize()
		apart := at.Minus(candidate)
		square := apart.Dot(apart).Materialize()
		nearer := square.Less(least)
		least, nearest = nearer.Choose(square, least).Materialize(), nearer.ChooseVector(candidate, nearest).Materialize()
	}
	for _, edge := range [][2]algebra.Vector{{origin, endX}, {origin, endY}, {endX, endY}} {
		along := edge[1].Minus(edge[0]).Materialize()
		or(edge[0].Plus(along.By(share(at.Minus(edge[0]).Dot(along).Over(along.Dot(along))))))
		flat := along
		flat.Z = zero
		side := edge[0].Plus(along.By(share(at.Minus(edge[0]).Dot(flat).Over(flat.Dot(flat)))))
		side.Z = side.Z.Min(at.Z.Max(p.bottom))
		or(side)
	}
	apart := at.Minus(nearest).Materialize()
	length := least.Sqrt().Materialize()
	distance = length
	normal = apart.Over(length.Max(algebra.Constant(at.X.Rows, 1e-15))).Materialize()

	// Inside, it is pushed out through the nearest face.
	slant := p.alongX.Square().Plus(p.alongY.Square()).Sqrt()
	depth, out := above.Neg(), up
	for _, face := range []struct {
		depth  algebra.Num
		normal algebra.Vector
	}{
		{at.X, vector(one.Neg(), zero, zero)},
		{at.Y, vector(zero, one.Neg(), zero)},
		{beyond(at).Neg().Times(p.alongX.Times(p.alongY).Over(slant)), vector(p.alongY.Over(slant), p.alongX.Over(slant), zero)},
		{at.Z.Minus(p.bottom), vector(zero, zero, one.Neg())},
	} {
		less := face.depth.Less(depth)
		depth, out = less.Choose(face.depth, depth).Materialize(), less.ChooseVector(face.normal, out).Materialize()
	}
	return outside.Choose(distance, depth.Neg()).Materialize(), outside.ChooseVector(normal, out).Materialize()
}
