package evolution

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// lenient is an archive whose improvements are shifted.
type lenient struct {
	AnnealedGrid
	bonus float64
}

func (a lenient) Improvement(fields []*Node, found Evaluated) *Node {
	return AddScalar(a.AnnealedGrid.Improvement(fields, found), a.bonus)
}

// looking is a learner that reads everything of an evaluation.
type looking struct {
	watcher
	factor float64
}

func (looking) Columns(scoring.Task) []int { return []int{1} }

func (l looking) Observe(task scoring.Task, known []*Node, seen Evaluation, _ xla.Key) (after,
	more []*Node) {
	sum := ReduceAllSum(seen.Transitions)
	for _, x := range []*Node{seen.Sequences, seen.Objectives} {
		if x != nil {
			sum = Add(sum, MulScalar(ReduceAllSum(x), l.factor))
		}
	}
	rows := seen.Transitions.Shape().Dimensions[0]
	return known, []*Node{BroadcastToDims(Reshape(sum, 1, 1), rows, 1)}
}

// The fingerprint of an archive covers by how much individuals improve it. That of a learner covers
// what it makes of recorded sequences and of returns by objective.
func TestFingerprintsCoverImprovementsAndRecords(t *testing.T) {
	maze, settings := mazeTask(), mazeSettings(0)
	print := func(task scoring.Task, method, own Method) string {
		t.Helper()
		prints, err := Fingerprints(task, method, own, settings.Batch)
		if err != nil || len(prints) != 1 {
			t.Fatal(prints, err)
		}
		return prints["archive"] + prints["learner"]
	}
	improver := func(bonus float64) string {
		archive := lenient{AnnealedGrid{Grid{Centroids: settings.Centroids}, AnnealingSettings{0.1, 0}},
			bonus}
		return print(maze, Method{Emitter: isoline, Archive: archive}, Method{Archive: archive})
	}
	if improver(1) != improver(1) || improver(1) == improver(2) {
		t.Error("the fingerprint of an archive leaves out its improvements")
	}
	aurora := AuroraArchive{AuroraSettings: DefaultAuroraSettings(envs.Pointmaze{}.Spec())}
	aurora.Capacity, aurora.Sampling = 12, 5
	fronts := FrontArchive{Grid{Centroids: settings.Centroids}, FrontSettings{2}}
	for what, archive := range map[string]Archive{"sequences": aurora, "objectives": fronts} {
		learner := func(factor float64) string {
			l := looking{watcher{honest}, factor}
			return print(maze, Method{Emitter: isoline, Learner: l, Archive: archive}, Method{Learner: l})
		}
		if learner(1) != learner(1) || learner(1) == learner(2) {
			t.Errorf("the fingerprint of a learner leaves out its %s", what)
		}
	}
}
