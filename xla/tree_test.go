package xla_test

import (
	"reflect"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

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
	names := []string{"First", "Pair.0", "Pair.1", "Rows.0.Left", "Rows.0.Right", "Rows.1.Left",
		"Deep.Left"}
	if got := xla.Names(tree); !slices.Equal(got, names) {
		t.Errorf("names %v, want %v", got, names)
	}
	other := xla.Unflatten(tree, new)
	if !slices.Equal(xla.Flatten(other), new) {
		t.Error("Unflatten does not keep the order of leaves")
	}
	if !slices.Equal(xla.Flatten(tree), old) {
		t.Error("Unflatten changed the original")
	}
	if other.Size != 7 || other.notes != "kept" || other.Any != 3 || len(other.Rows) != 3 ||
		other.Rows[1].Name != "b" ||
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
	if !slices.Equal(xla.Flatten(zipped),
		new) || pairs[2] != old[1] || pairs[3] != new[1] || len(pairs) != 14 {
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
