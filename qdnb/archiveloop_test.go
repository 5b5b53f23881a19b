package qdnb_test

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// archiving is a custom loop around an archive: it mutates individuals, and inserts the children.
type archiving struct {
	Batch         int                `json:"batch"`
	Sigma         float64            `json:"sigma"`
	Hidden        []int              `json:"hidden"`
	EpisodeLength int                `json:"episode_length"`
	Archive       repertoire.Archive `json:"-"`
	repertoire.CVT
}

// held is an archive and the genotypes of its slots: a pytree.
type held struct {
	Genotypes *Node // [slots, N]
	Archive   repertoire.Archive
}

// insert adds children, and moves the genotypes of those that enter.
func (h held) insert(children *Node, found repertoire.Evaluated) held {
	archive, in := h.Archive.Add(found)
	slots, count := xla.Nonzero(in.Accepted)
	from := Gather(in.Index, InsertAxes(slots, -1))
	return held{xla.SetRowsAt(h.Genotypes, children, from, slots, count), archive}
}

type archivingSearch struct {
	*algorithms.Base
	held     xla.State[held]
	children *xla.Program[mutationIn, xla.Array]
	insert   *xla.Program[insertIn, xla.State[held]]
}

type mutationIn struct {
	Seed, Number xla.Array
	Held         xla.State[held]
}

type insertIn struct {
	Held                           xla.State[held] `xla:"donate"`
	Children, Fitness, Descriptors xla.Array
}

func (a *archiving) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	base, err := algorithms.NewBase(p, scoring.NewTask(env, a.Hidden, a.EpisodeLength), a.CVT, a.Batch, seed)
	if err != nil {
		return nil, err
	}
	task := base.Task()
	n, d := task.Policy.Params(), len(env.Spec().Descriptor.Lower)
	empty, err := xla.Compile(base.Programs, "empty", base.Seed, func(seed xla.Array) xla.State[held] {
		archive := a.Archive.Empty(task, random.KeyOf(seed.Tree))
		slots := archive.Cells().Fitness.Shape().Dimensions[0]
		return xla.Out(held{Zeros(seed.Tree.Graph(), shapes.Make(dtypes.Float32, slots, n)), archive})
	})
	if err != nil {
		return nil, err
	}
	s := &archivingSearch{Base: base}
	if s.held, err = empty.Run(base.Seed); err != nil {
		return nil, err
	}
	s.children, err = xla.Compile(base.Programs, "children", mutationIn{base.Seed, xla.Declare(dtypes.Int32), s.held},
		func(in mutationIn) xla.Array {
			number, h := in.Number.Tree, in.Held.Tree
			keys := random.KeyOf(in.Seed.Tree).FoldInEach(number).FoldInEach(
				Iota(number.Graph(), shapes.Make(dtypes.Int32, a.Batch), 0))
			parents := Gather(h.Genotypes, InsertAxes(h.Archive.Cells().Sampler().Draw(keys.FoldIn(0)), -1))
			mutated := Add(parents, MulScalar(keys.FoldIn(1).Normal(a.Batch, n), a.Sigma))
			initial := BroadcastToDims(Equal(number, ZerosLike(number)), a.Batch, n)
			return xla.Out(Where(initial, task.Policy.Init(keys), mutated))
		})
	if err == nil {
		in := insertIn{s.held, s.children.Out, xla.Declare(dtypes.Float32, a.Batch), xla.Declare(dtypes.Float32, a.Batch, d)}
		s.insert, err = xla.Compile(base.Programs, "insert", in, func(in insertIn) xla.State[held] {
			return xla.Out(in.Held.Tree.insert(in.Children.Tree, repertoire.Evaluated{Batch: repertoire.Batch{
				Fitness: in.Fitness.Tree, Descriptors: in.Descriptors.Tree}}))
		})
	}
	return s, err
}

func (s *archivingSearch) Step() (o scoring.Outcome, err error) {
	number := s.Number()
	defer number.Free()
	children, err := s.children.Run(mutationIn{s.Seed, number, s.held})
	if err != nil {
		return o, err
	}
	defer children.Free()
	found, o, err := s.Evaluate(children)
	if err != nil {
		return o, err
	}
	n := len(found.Fitnesses)
	in := insertIn{s.held, children, xla.FromFloats(found.Fitnesses, n),
		xla.FromFloats(found.Descriptors, n, len(found.Descriptors)/n)}
	s.held, err = s.insert.Run(in)
	xla.Free(&in.Fitness, &in.Descriptors)
	return o, err
}

func (s *archivingSearch) State() *xla.Checkpoint { return s.Stored(&s.held) }
