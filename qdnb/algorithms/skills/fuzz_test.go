package skills

import (
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
)

// FuzzRestore restores a search from arbitrary arrays. It resumes if they are accepted, and is
// unchanged if they are refused.
func FuzzRestore(f *testing.F) {
	s := startSearch(f, xlatest.Pure(f), smerlDADS.method, small())
	for range 3 {
		must.Get(s.Step())
	}
	xlatest.FuzzRestore(f, s, 2,
		"", "Returns.Position <i4 , 2147483647",
		"Returns.Position <i4 , -5\nReturns.Age <i4 6, -2147483648", "Returns.Position <f4 , 1",
		"-Returns.Position <f4 1,", "-Learner.LogAlpha.Params <f4 1,", "-Learner.Actor.Params.Bias.0 <f4 1,",
		"evaluations |u1 , 3", "evaluations <f8 , nan",
		"evaluations <i8 2, 1", "-evaluations <f4 1,", "metric_sums <f8 9, nan", "iteration <i8 , -9",
		"metric_sums <f4 8, 1", "Learner.LogAlpha.Params <f4 , inf",
		"Learner.Actor.Params.Bias.0 <f4 8,1 1", "Learner.Actor.Params.Bias.0 <f8 1,8 1",
		"Learner.Actor.Params.Bias.0 |u1 1,8 1",
		"Diversity.Dynamics.Params.Logits.Bias.0 <f4 1,2 nan\nReturns.Rows <f4 10,6 nan",
		"Envs.Observation <f4 6,2 inf -inf", "passive_genotypes <f4 0,4611686018427387904",
		"Learner.Critic.Trainable.Params.1.Bias.0 <f4 1,8 1e38",
	)
}
