package evolution

import (
	"encoding/json"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla/random"
)

// Starts is the number of fixed initial states of a run's evaluations: individual i of every
// generation starts in state i modulo Starts. If it is 0, every evaluation draws its own. In JSON 0
// is "fresh".
type Starts int

// MarshalJSON implements [json.Marshaler].
func (s Starts) MarshalJSON() ([]byte, error) {
	if s == 0 {
		return []byte(`"fresh"`), nil
	}
	return json.Marshal(int(s))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Starts) UnmarshalJSON(data []byte) error {
	if string(data) == `"fresh"` {
		*s = 0
		return nil
	}
	if json.Unmarshal(data, (*int)(s)) != nil || *s < 1 {
		return fmt.Errorf("%s is neither fresh nor a number of initial states, at least 1", data)
	}
	return nil
}

// resets returns the keys of the initial states of individuals.
func (gen generation) resets(from source, individuals *Node) random.Key {
	switch same := func(word *Node) *Node {
		return BroadcastToDims(word, individuals.Shape().Dimensions...)
	}; {
	case from.Start.Hi == nil:
		return from.Key.FoldInEach(individuals).FoldIn(streamReset)
	case gen.starts == 0:
		return random.Key{Hi: same(from.Start.Hi), Lo: same(from.Start.Lo)}
	}
	return from.Start.FoldInEach(ModScalar(individuals, int32(gen.starts)))
}

// Of is an environment whose episodes all start where the evaluation of one individual did: number
// individual of a generation of the run with the given seed.
func (s Starts) Of(env envs.Env, seed int64, generation, individual int32) envs.Env {
	if s > 0 {
		return envs.StartAt(env, seed, streamStart, int(individual)%int(s))
	}
	return envs.StartAt(env, seed, int(generation), int(individual), streamReset)
}

// Passive is an environment whose episodes start in the same state as those of a run's passive
// repertoire, which share one state in AURORA's runs.
func (Starts) Passive(env envs.Env, seed int64) envs.Env {
	return envs.StartAt(env, seed, streamPassive)
}
