package evolution

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/random"
)

// Mix is the emitters of a method, which share each generation in their order. PGA-MAP-Elites is
//
//	Mix{{PolicyGradient{...}, 0.5}, {IsoLineEmitter{...}, 0.5}}
type Mix []Share

// Share is the part of a generation that an emitter makes.
type Share struct {
	Emitter Emitter
	Of      float64 // share of the batch; all shares add up to 1
}

// member is an emitter and its individuals of each generation: a pytree.
type member struct {
	Emitter      Emitter
	first, count int // its individuals
	table        int // number of its first individual among the proposed ones; -1 if it proposes none
	stream       int // of its random numbers
}

// members divides a batch among the emitters. Shares are rounded down to whole individuals, and the
// first emitter makes the rest.
func (mix Mix) members(batch int) ([]member, error) {
	list, left, sum, table := make([]member, len(mix)), batch, 0.0, 0
	for i, s := range mix {
		if s.Emitter == nil || !(s.Of >= 0 && s.Of <= 1) {
			return nil, fmt.Errorf("share %d of the emitters needs an emitter and a number from 0 to 1, "+
				"not %T and %g", i+1, s.Emitter, s.Of)
		}
		sum += s.Of
		list[i] = member{Emitter: s.Emitter, count: int(s.Of*float64(batch) + 1e-9), table: -1, stream: i}
		left -= list[i].count
	}
	if len(mix) == 0 || math.Abs(sum-1) > 1e-6 {
		return nil, fmt.Errorf("the shares of the emitters must add up to 1, not %g", sum)
	}
	list[0].count += left
	first := 0
	for i := range list {
		list[i].first = first
		first += list[i].count
		if _, ok := list[i].Emitter.(Proposer); ok {
			list[i].table = table
			table += list[i].count
		}
	}
	return list, nil
}

// of narrows parents to the individuals of a member.
func (p Parents) of(m member) Parents {
	p.first, p.Count = m.first, m.count
	return p
}

// key returns the key of a member, given that of all. The first one uses it as it is.
func (m member) key(all random.Key) random.Key {
	if m.stream == 0 {
		return all
	}
	return all.FoldIn(m.stream)
}

// own reports which individuals are the member's, bool, and their numbers within its share, clamped.
func (m member) own(individuals *Node) (own, which *Node) {
	local := AddScalar(individuals, int32(-m.first))
	own = And(GreaterOrEqual(local, ZerosLike(local)), LessThan(local, ConstAs(local, int32(m.count))))
	return own, MaxScalar(MinScalar(local, int32(m.count-1)), int32(0))
}
