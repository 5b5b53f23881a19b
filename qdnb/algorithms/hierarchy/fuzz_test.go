package hierarchy

import (
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
)

// FuzzRestore restores a search from arbitrary arrays. The search continues from arrays that it
// accepts; arrays that it rejects leave it unchanged.
func FuzzRestore(f *testing.F) {
	settings := small()
	settings.NormalizeObservations = true
	task, rows := signSkills(true)
	s := must.Get(New(xlatest.Pure(f), task, rows, settings, 1))
	f.Cleanup(s.Close)
	for range 2 {
		must.Get(s.Step())
	}
	xlatest.FuzzRestore(f, s, 1,
		"", "counters <f8 6, nan", "counters <f8 6, 1e300 -1e300", "counters <f4 5, 1",
		"-counters <f4 1,", "skills_checksum <i8 1, 5",
		"skills_checksum <f8 , 0.5", "-skills_checksum <f4 1,", "learner.Statistics.Count <f4 , -1",
		"-learner.Statistics.Count <f4 1,",
		"learner.Moments.Weight1 <i4 , 1", "worlds.observation <f4 6,3 nan inf -inf",
		"worlds.observation <f8 6,3 1e300", "worlds.observation <f4 3,6 1",
		"-worlds.reward <f4 1,", "worlds.done <f4 6, 7", "learner.Nets.Policy <f4 1,115 nan",
		"learner.Nets.Policy <f4 115,1 1",
		"worlds.world.4 |b1 6,3 1 0", "worlds.world.4 <f4 0,4611686018427387904",
	)
}

// FuzzPolicy evaluates arbitrary meta-controllers: whatever their arrays hold, they choose among
// the existing skills.
func FuzzPolicy(f *testing.F) {
	settings := small()
	settings.NormalizeObservations = true
	task, rows := signSkills(true)
	p := xlatest.Pure(f)
	s := must.Get(New(p, task, rows, settings, 1))
	defer s.Close()
	policy := must.Get(s.Policy())
	evaluator := must.Get(NewEvaluator(p, task, settings, rows.Shape, 5))
	f.Cleanup(evaluator.Close)
	skills, err := Upload(p, rows)
	must.Do(err)
	f.Cleanup(skills.Free)
	for _, text := range []string{
		"", "policy <f4 1,115 nan", "policy <f4 1,115 inf -inf 1e38", "policy <f8 115, 1e300",
		"policy |u1 115,1 3", "policy <f4 0,", "-policy <f4 1,",
		"observation_mean <f4 3, nan", "observation_count <f4 , 0", "observation_count <i8 1, -1",
		"-observation_squares <f4 1,",
		"observation_squares <f4 3, -1", "skills_checksum <f8 , 0.5", "-skills_checksum <f4 1,",
		"policy <f4 4611686018427387904,0",
	} {
		f.Add(text, int64(0))
	}
	f.Add("", int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, text string, seed int64) {
		arrays := xlatest.Altered(policy, text)
		if arrays == nil {
			return
		}
		hostile.Bounded(t, xlatest.Bytes(arrays), func() {
			hostile.Error(t, Policy(arrays).Chooses(rows))
			e, err := evaluator.Evaluate(arrays, skills, seed, 0)
			hostile.Error(t, err)
			if err != nil {
				return
			}
			if len(e.Choices) == 0 || slices.Min(e.Choices) < 0 || slices.Max(e.Choices) > 2 {
				t.Errorf("choices %v", e.Choices)
			}
			for i, steps := range e.Steps {
				if !(steps >= 1 && steps <= 12) {
					t.Errorf("episode %d has %v steps", i, steps)
				}
				e.Farthest(i)
			}
		})
	})
}
