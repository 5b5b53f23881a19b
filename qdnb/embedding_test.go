package qdnb

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/xla/random"
)

// The types below embed a part and forget a method that returns the part.
type (
	ownAdd       struct{ repertoire.Grid }
	ownOffspring struct{ evolution.IsoLineEmitter }
	ownInit      struct{ evolution.IsoLineEmitter }
	ownProposals struct{ evolution.PolicyGradient }
	ownReward    struct{ skills.DIAYN }
	ownLearner   struct{ skills.DIAYN }
)

func (a ownAdd) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	grid, in := a.Grid.Add(found)
	return ownAdd{grid.(repertoire.Grid)}, in
}

func (e ownOffspring) Offspring(p evolution.Parents, _ *Node, keys random.Key) *Node {
	return p.Sample(keys)
}

func (e ownInit) Init(evolution.Start, random.Key) evolution.Emitter { return e }

func (e ownProposals) Init(s evolution.Start, key random.Key) evolution.Emitter {
	return ownProposals{e.PolicyGradient.Init(s, key).(evolution.PolicyGradient)}
}

func (d ownReward) Reward(b skills.Batch) *Node { return Neg(d.DIAYN.Reward(b)) }

func (d ownLearner) Init(p skills.Problem, key random.Key) skills.Diversity {
	return ownLearner{d.DIAYN.Init(p, key).(skills.DIAYN)}
}

// A part that embeds another one and inherits a method that returns the part would be replaced by the
// embedded one: the error names the method to write.
func TestEmbeddedPartsKeepTheirMethods(t *testing.T) {
	diayn := skills.DIAYN{LearningRate: 0.01, Hidden: []int{8}}
	proposing := Tune(func(h *evolution.MapElites) {
		h.Mix = evolution.Mix{{Emitter: ownProposals{h.Mix[0].Emitter.(evolution.PolicyGradient)}, Of: 1}}
	})
	for _, c := range []struct {
		algorithm    string
		own          Tuning
		part, method string
		replacement  string
	}{
		{"map-elites", archiving(ownAdd{}), "qdnb.ownAdd", "Empty", "repertoire.Grid"},
		{"map-elites", emitting(ownOffspring{}), "qdnb.ownOffspring", "Init", "evolution.IsoLineEmitter"},
		{"map-elites", emitting(ownInit{}), "qdnb.ownInit", "Update", "evolution.IsoLineEmitter"},
		{"pga-map-elites", proposing, "qdnb.ownProposals", "Prepare", "evolution.PolicyGradient"},
		{"diayn-reward", skilled(skills.Parts{Diversity: ownReward{diayn}}), "qdnb.ownReward", "Init", "skills.DIAYN"},
		{"diayn-reward", skilled(skills.Parts{Diversity: ownLearner{diayn}}), "qdnb.ownLearner", "Learn", "skills.DIAYN"},
	} {
		spec := smallest(c.algorithm, t.TempDir())
		spec.Name, spec.Budget, spec.Tune = "own", Generations(5), spec.Tune.And(c.own)
		errtest.Want(t, errtest.Of(Train(background, spec)), "it returns "+c.replacement+", not "+c.part,
			"write a method "+c.method+" of "+c.part+" that returns "+c.part)
	}
}
