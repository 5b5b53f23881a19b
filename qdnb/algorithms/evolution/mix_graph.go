package evolution

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/random"
)

// Mix is the emitters of a method, which share each generation in their order. PGA-MAP-Elites is
//
//	Mix{{PolicyGradient{...}, Rest}, {IsoLineEmitter{...}, 0.5}}
type Mix []Share

// Share is the part of a generation that an emitter makes.
type Share struct {
	Emitter Emitter
	// Of is the share of the batch that the emitter makes, at least one individual. All shares add up to 1.
	// At 0 the emitter is left out, but a [Proposer] still learns. [Rest] is what the others leave.
	Of float64
}

// Rest is the share of an emitter that makes what the others leave, for one emitter of a [Mix].
const Rest = -1

// Names implements [parts.Namer]: the share of an [IsoLineEmitter] among others is the setting
// isoline_share, unless it is the [Rest].
func (s Share) Names() map[string]string {
	if _, ok := s.Emitter.(IsoLineEmitter); ok && s.Of != Rest {
		return map[string]string{"Of": "isoline_share"}
	}
	return nil
}

// assignment is an emitter and the individuals of each generation that it makes: a pytree.
type assignment struct {
	Emitter      Emitter
	first, count int // its individuals
	table        int // number of its first individual among the proposed ones; -1 if it proposes none
	stream       int // of its random numbers
}

// assign divides a batch among the emitters. Shares are rounded down to whole individuals, and the
// first emitter makes the rest. One whose share is 0 is left out, unless it learns from the others'
// transitions.
func (mix Mix) assign(batch int) (list []assignment, err error) {
	left, sum, table, first := batch, 0.0, 0, 0
	rest := -1
	for i, s := range mix {
		name := Share{Emitter: s.Emitter}.Names()["Of"] // also where a second Rest was set by that name
		f, function := s.Emitter.(Stateless)
		switch {
		case function && f == nil:
			return nil, fmt.Errorf("share %d of the emitters is Stateless(nil): give it a function", i+1)
		case rest < 0 && s.Of == Rest && s.Emitter != nil:
			rest = i
		case s.Emitter != nil && s.Of >= 0 && s.Of <= 1:
		case name != "":
			return nil, fmt.Errorf("%s must be a number from 0 to 1, not %g", name, s.Of)
		default:
			return nil, fmt.Errorf("share %d of the emitters needs an emitter and a number from 0 to 1, or Rest "+
				"once, not %T and %g", i+1, s.Emitter, s.Of)
		}
	}
	if mix = slices.Clone(mix); rest >= 0 {
		mix[rest].Of = 1
		for i, s := range mix {
			if i != rest {
				mix[rest].Of -= s.Of
			}
		}
	}
	for _, s := range mix {
		sum += s.Of
		left -= s.individuals(batch)
	}
	if len(mix) == 0 || math.Abs(sum-1) > 1e-6 {
		return nil, fmt.Errorf("the shares of the emitters must add up to 1, not %g", sum)
	}
	for i, s := range mix {
		a := assignment{Emitter: s.Emitter, first: first, count: s.individuals(batch), table: -1, stream: i}
		_, proposes := s.Emitter.(Proposer)
		if s.Of == 0 && !proposes {
			continue
		}
		if s.Of > 0 {
			a.count, left = a.count+left, 0
			if a.count == 0 {
				return nil, fmt.Errorf("share %d of the emitters, %g of a batch of %d, is less than one individual: "+
					"at least %.3g, or 0 to leave it out", i+1, s.Of, batch, 1/float64(batch))
			}
		}
		if proposes {
			a.table = table
			table += a.count
		}
		first += a.count
		list = append(list, a)
	}
	return list, nil
}

// individuals is the share of a batch, rounded down.
func (s Share) individuals(batch int) int { return int(s.Of*float64(batch) + 1e-9) }

// of narrows parents to the individuals of an emitter.
func (p Parents) of(a assignment) Parents {
	p.first, p.Count = a.first, a.count
	return p
}

// key returns the key of an emitter, given the key of all. The first one uses it as it is.
func (a assignment) key(all random.Key) random.Key {
	if a.stream == 0 {
		return all
	}
	return all.FoldIn(a.stream)
}

// own reports which individuals are the emitter's, bool, and their numbers within its share, clamped.
func (a assignment) own(individuals *Node) (own, which *Node) {
	local := AddScalar(individuals, int32(-a.first))
	own = And(GreaterOrEqual(local, ZerosLike(local)), LessThan(local, ConstAs(local, int32(a.count))))
	return own, MaxScalar(MinScalar(local, int32(a.count-1)), int32(0))
}
