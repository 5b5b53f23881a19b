package skills

import (
	"math"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/xlatest"
)

// FuzzRestore puts a search where any arrays say. What it takes it goes on from, and what it refuses leaves it as it was.
func FuzzRestore(f *testing.F) {
	s, err := New(xlatest.Pure(f), Task{Env: short, Length: 8, Skills: 3}, smerlDADS.method, small())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	for range 3 {
		if _, err := s.Step(); err != nil {
			f.Fatal(err)
		}
	}
	whole, err := s.Arrays()
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{
		"", "Returns.Position <i4 , 2147483647", "Returns.Position <i4 , -5\nReturns.Age <i4 6, -2147483648", "Returns.Position <f4 , 1",
		"-Returns.Position <f4 1,", "-Learner.LogAlpha <f4 1,", "-Learner.Actor <f4 1,", "passive_evaluations |u1 , 3", "passive_evaluations <f8 , nan",
		"passive_evaluations <i8 2, 1", "-passive_evaluations <f4 1,", "figures <f8 9, nan", "figures <f4 8, 1", "Learner.LogAlpha <f4 , inf",
		"Learner.Actor <f4 156,1 1", "Learner.Actor <f8 1,156 1", "Learner.Actor |u1 1,156 1", "Known.0 <f4 1,86 nan\nReturns.Rows <f4 10,6 nan",
		"Worlds.Observation <f4 6,2 inf -inf", "passive_genotypes <f4 0,4611686018427387904", "Learner.Critic <f4 2,145 1e38",
	} {
		f.Add(int64(2), text)
	}
	f.Add(int64(math.MaxInt64), "")
	f.Add(int64(math.MaxInt32), "nobody <f4 1, 1")
	f.Add(int64(-1<<62), "")
	f.Fuzz(func(t *testing.T, iteration int64, text string) {
		arrays := xlatest.Altered(whole, text)
		if arrays == nil {
			return
		}
		defer func() {
			if err := s.Restore(2, whole); err != nil {
				t.Error(err)
			}
		}()
		hostile.Bounded(t, xlatest.Bytes(arrays), func() {
			err := s.Restore(iteration, arrays)
			hostile.Error(t, err)
			after, problem := s.Arrays()
			if problem != nil {
				t.Fatal(problem)
			}
			if err != nil {
				if names := differ(after, whole); len(names) > 0 {
					t.Errorf("%v, and the search has other %v", err, names)
				}
				return
			}
			_, err = s.Step()
			hostile.Error(t, err)
		})
	})
}
