package xla_test

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// counts is a state with several types of tensors.
type counts struct {
	Sum   *Node // float32 [2]
	Steps *Node `checkpoint:"taken"` // int32
	Extra []*Node
}

type countIn struct {
	By      xla.Array
	None    xla.Array // an input that the program does not have
	counted `xla:"donate"`
}

// countOut embeds a struct of an unexported type.
type countOut struct {
	counted
	Total xla.Array
}

type counted struct{ Counts xla.State[counts] }

func countProgram(t *testing.T, p *xla.Platform) (*xla.Program[countIn, countOut], countIn) {
	t.Helper()
	first, err := xla.Compile(p, "first", p.Seed(3).First(), func(seed xla.Array) xla.State[counts] {
		g := seed.Tree.Graph()
		return xla.Out(counts{Zeros(g, shapes.Make(dtypes.Float32, 2)), Const(g, int32(0)), []*Node{Const(g, true)}})
	})
	must.Do(err)
	defer first.Free()
	in := countIn{By: xla.Declare(dtypes.Float32)}
	in.Counts = must.Get(first.Run(p.Seed(3).First()))
	program := must.Get(xla.Compile(p, "count", in, func(in countIn) countOut {
		c := in.Counts.Tree
		c.Sum, c.Steps = Add(c.Sum, in.By.Tree), AddScalar(c.Steps, int32(1))
		return countOut{counted{xla.Out(c)}, xla.Out(ReduceAllSum(c.Sum))}
	}))
	return program, in
}

func number(x float32) xla.Array { return xla.Single(tensors.FromScalar(x)) }

func sumOf(c counts) *Node { return c.Sum }

func TestProgramsOfStates(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		program, in := countProgram(t, p)
		defer program.Free()
		errtest.Equal(t, "axes of the declared steps", len(program.Out.Counts.Leaves()[1].Dims()), 0)
		var out countOut
		for i := range 3 {
			in.By = number(float32(i))
			out = must.Get(program.Run(in))
			before := in
			in.Counts = out.Counts
			errtest.Want(t, errtest.Of(program.Run(before)), "input Counts.Sum was freed or donated before")
		}
		errtest.Equal(t, "the total", out.Total.Scalars(), []float64{6})
		steps := xla.Part(in.Counts, func(c counts) *Node { return c.Steps })
		errtest.Equal(t, "steps", xlatest.Flat[int32](t, steps.Value()[0])[0], 3)
		xla.Set(&in.Counts, sumOf, xla.Single(tensors.FromValue([]float32{5, 7})))
		if out, err := program.Run(in); err != nil {
			t.Error(err)
		} else if total := out.Total.Scalars(); total[0] != 16 {
			t.Errorf("after Set, the total is %v", total)
		}
		in.By = xla.Single(tensors.FromScalar(int32(1)))
		errtest.Want(t, errtest.Of(program.Run(in)), "input By has shape")
	})
}

// A state whose tree has another number of tensors would shift the values of the states after it.
func TestTreesFitTheirStates(t *testing.T) {
	p := xlatest.Pure(t)
	program, in := countProgram(t, p)
	defer program.Free()
	errtest.Want(t, errtest.Of(xla.Compile(p, "outputs", in, func(in countIn) countOut {
		out := countOut{counted{xla.Out(in.Counts.Tree)}, in.By}
		out.Counts.Tree.Extra = nil
		return out
	})), `the tree of state "Counts" has 2 tensors, the state 3`)
	in.Counts.Tree.Extra = append(in.Counts.Tree.Extra, new(Node))
	errtest.Want(t, xla.Catch(func() {
		_, _ = xla.Compile(p, "inputs", in, func(in countIn) xla.Array { return in.By })
	}), `the tree of state "Counts" has 4 tensors, the state 3`)
}

// A checkpoint restores tensors of every type, and changes nothing if one does not fit.
func TestCheckpoint(t *testing.T) {
	p := xlatest.Pure(t)
	program, in := countProgram(t, p)
	defer program.Free()
	in.By = number(2)
	out := must.Get(program.Run(in))
	held := out.Counts
	checkpoint := func() *xla.Checkpoint {
		c := &xla.Checkpoint{}
		c.Add(&held, 1, "a_")
		return c
	}
	arrays := must.Get(checkpoint().Arrays())
	errtest.Equal(t, "names of the arrays", slices.Sorted(maps.Keys(arrays)), []string{"a_Extra.0", "a_Sum", "a_taken"})
	errtest.Equal(t, "types of the arrays", fmt.Sprint(arrays["a_taken"].DType(), " ", arrays["a_Extra.0"].DType()),
		"int32 bool")
	arrays["a_Sum"], arrays["a_taken"] = npz.Of([]float32{8, 9}), npz.Scalar(int32(1<<30+1))
	for want, wrong := range map[string]*npz.Array{
		"has shape [1], but this run needs []":       {Shape: []int{1}, Data: []int32{1}},
		"has type float32, but this run needs int32": {Shape: []int{}, Data: []float32{1}},
		"is missing": nil,
	} {
		bad := maps.Clone(arrays)
		if delete(bad, "a_taken"); wrong != nil {
			bad["a_taken"] = *wrong
		}
		errtest.Want(t, checkpoint().Restore(bad), "the checkpoint's a_taken "+want)
		errtest.Equal(t, "the sum after a failed Restore", must.Get(xla.Part(held, sumOf).Floats())[0], 2)
	}
	more := maps.Clone(arrays)
	more["b"] = npz.Scalar(int32(1))
	errtest.Want(t, checkpoint().Restore(more), "the checkpoint has b, which State did not list")
	errtest.Want(t, xla.Catch(func() { checkpoint().Add(&held, 1, "", "a", "b", "c", "d") }), "4 names for 3 tensors")
	must.Do(checkpoint().Restore(arrays))
	again := must.Get(checkpoint().Arrays())
	for _, name := range xlatest.Differ(arrays, again) {
		t.Errorf("%s differs after Restore", name)
	}
}

// Slices of any type are stored in order, and restored on another number of workers.
func TestSlicesAreStoredInOrder(t *testing.T) {
	rows := npz.Of(make([]int32, 7*3), 7, 3)
	for i := range rows.Data.([]int32) {
		rows.Data.([]int32)[i] = int32(i) << 20
	}
	for workers := 1; workers <= 4; workers++ {
		for size := 1; size <= 7; size++ {
			s := xla.Slices{N: 7, Size: size, Workers: workers}
			v := must.Get(s.Upload(rows))
			got, err := s.Download(v)
			if err != nil || !slices.Equal(got.Data.([]int32), rows.Data.([]int32)) || !slices.Equal(
				got.Shape, rows.Shape) || len(v) != workers || v[0].Shape().Dimensions[0] != s.Turns() {
				t.Errorf("slices of %d on %d workers: %v, %v", size, workers, got, err)
			}
			v.Free()
		}
	}
}

// The rows of a sparse matrix whose number in the vector is -Inf are zero on the host.
func TestSparseRowsAreNotCopied(t *testing.T) {
	empty := float32(math.Inf(-1))
	upload := func(a npz.Array) xla.Array {
		v := must.Get(xla.Uploads(a, 1))
		return xla.Value(v)
	}
	matrix := upload(npz.Of([]float32{1, 2, 3, 4, 5, 6}, 3, 2))
	vector := upload(npz.Of([]float32{0, empty, -7}))
	defer xla.Free(&matrix, &vector)
	for _, by := range []xla.Array{vector, matrix} {
		c := &xla.Checkpoint{}
		c.Add(&matrix, 1, "", "matrix") // before what selects its rows
		c.Add(&by, 1, "", "by")
		c.Sparse("matrix", "by")
		arrays, err := c.Arrays()
		if by.Dims()[0] != 3 || len(by.Dims()) > 1 {
			errtest.Want(t, err, "6 numbers cannot select rows")
			continue
		}
		must.Do(err)
		if got := arrays["matrix"]; !slices.Equal(got.Data.([]float32), []float32{1, 2, 0, 0, 5, 6}) ||
			!slices.Equal(got.Shape, []int{3, 2}) {
			t.Errorf("%v", got)
		}
		if err := c.Restore(arrays); err != nil {
			t.Error(err)
		}
	}
}

// forest has everything that a pytree may have.
type forest struct {
	First  *Node
	Size   int
	Absent *Node
	Pair   [2]*Node
	Rows   []branch
	Deep   *branch
	None   *branch
	notes  string // holds no nodes
	Any    any
}

type branch struct {
	Left, Right *Node
	Name        string
}

// nodes returns n different nodes.
func nodes(t *testing.T, n int) []*Node {
	t.Helper()
	g := NewGraph(xlatest.Pure(t).Backend, "trees")
	t.Cleanup(g.Finalize)
	list := make([]*Node, n)
	for i := range list {
		list[i] = Const(g, []int32{int32(i)})
	}
	return list
}

func plant(n []*Node) forest {
	return forest{
		First: n[0], Size: 7, Pair: [2]*Node{n[1], n[2]},
		Rows: []branch{{n[3], n[4], "a"}, {n[5], nil, "b"}, {}},
		Deep: &branch{Left: n[6], Name: "c"}, notes: "kept", Any: 3,
	}
}

func TestTreesKeepTheirForm(t *testing.T) {
	old, new := nodes(t, 7), nodes(t, 7)
	tree := plant(old)
	if !slices.Equal(xla.Flatten(tree), old) {
		t.Error("Flatten does not keep declaration order")
	}
	names := []string{"First", "Pair.0", "Pair.1", "Rows.0.Left", "Rows.0.Right", "Rows.1.Left", "Deep.Left"}
	errtest.Equal(t, "names", xla.Names(tree), names)
	other := xla.Unflatten(tree, new)
	if !slices.Equal(xla.Flatten(other), new) {
		t.Error("Unflatten does not keep the order of leaves")
	}
	if !slices.Equal(xla.Flatten(tree), old) {
		t.Error("Unflatten changed the original")
	}
	if other.Size != 7 || other.notes != "kept" || other.Any != 3 || len(other.Rows) != 3 || other.Rows[1].Name != "b" ||
		other.Deep.Name != "c" || other.Deep == tree.Deep || other.None != nil || other.Absent != nil ||
		other.Rows[1].Right != nil {
		t.Errorf("Unflatten lost something: %+v", other)
	}
	// Map2 works node by node; a single node, a slice and an array are pytrees too.
	swap := map[*Node]*Node{}
	for i := range old {
		swap[old[i]] = new[i]
	}
	if !slices.Equal(xla.Flatten(xla.Map(tree, func(n *Node) *Node { return swap[n] })), new) {
		t.Error("Map")
	}
	var pairs []*Node
	zipped := xla.Map2(tree, other, func(a, b *Node) *Node { pairs = append(pairs, a, b); return b })
	if !slices.Equal(xla.Flatten(zipped), new) || pairs[2] != old[1] || pairs[3] != new[1] || len(pairs) != 14 {
		t.Error("Zip")
	}
	if xla.Unflatten(old[0], new[:1]) != new[0] || !slices.Equal(xla.Unflatten(old, new), new) ||
		xla.Unflatten([1]*Node{old[0]},
			new[1:2]) != [1]*Node{new[1]} || len(xla.Flatten(3)) != 0 || len(xla.Flatten([]*Node(nil))) != 0 {
		t.Error("pytrees that are not structs")
	}
}

func TestWrongTreesAreExplained(t *testing.T) {
	n := nodes(t, 7)
	type hidden struct{ node *Node }
	type deeper struct{ Inner []hidden }
	type embedded struct{ hidden }
	type veiled struct{ any any }
	type table struct{ Left map[int]*Node }
	for want, f := range map[string]func(){
		"a pytree of 7 tensors cannot take 6": func() { xla.Unflatten(plant(n), n[:6]) },
		"a pytree of 1 tensors cannot take 2": func() { xla.Unflatten(n[0], n[:2]) },
		"pytrees of 7 and 2 tensors do not match": func() {
			xla.Map2(n, n[:2], func(a, b *Node) *Node { return a })
		},
		"field xla_test.hidden.node holds tensors": func() { xla.Flatten(deeper{[]hidden{{n[0]}}}) },
		"field xla_test.embedded.hidden holds":     func() { xla.Flatten(embedded{hidden{n[0]}}) },
		"field xla_test.hidden.node holds":         func() { xla.Flatten([]any{3, &hidden{n[0]}}) },
		"field xla_test.veiled.any holds":          func() { xla.Flatten([]any{veiled{3}, veiled{[]any{&n[0]}}}) },
		"a map holds tensors in Any.Left":          func() { xla.Flatten(forest{Any: table{map[int]*Node{1: n[0]}}}) },
		"a map holds tensors":                      func() { xla.Flatten([]any{map[*Node]int{n[0]: 1}}) },
	} {
		errtest.Want(t, exceptions.TryCatch[error](f), want)
	}
}

// Values of interfaces are parts of the pytree wherever these are, and are replaced only in the copy.
func TestTreesInInterfaces(t *testing.T) {
	type wrap struct{ Any any }
	type loop struct { // of a host object that the pytree refers to
		Self any
		Node *Node
	}
	host := &loop{}
	host.Self = host
	old, new := nodes(t, 2), nodes(t, 2)
	for _, tree := range []any{
		forest{First: old[0], Any: branch{Left: old[1]}},
		forest{First: old[0], Any: &branch{Left: old[1]}},
		struct{ L []wrap }{[]wrap{{old[0]}, {3}, {branch{Right: old[1]}}}},
		[]any{old[0], nil, []any{host, &wrap{&old[1]}}},
		[2]wrap{{[]*Node{old[0]}}, {[1]any{old[1]}}},
		&wrap{&wrap{struct{ A, B any }{old[0], old[1]}}},
	} {
		other := xla.Unflatten(tree, new)
		if !slices.Equal(xla.Flatten(other), new) || !slices.Equal(xla.Flatten(tree), old) ||
			reflect.TypeOf(other) != reflect.TypeOf(tree) {
			t.Errorf("%+v and %+v", tree, other)
		}
	}
	list := []any{host, old[0]}
	if other := xla.Unflatten(list, new[:1]); other[0] != any(host) || list[1] != any(old[0]) {
		t.Error("Unflatten copied what holds no nodes, or changed the original")
	}
}
