package qdnb

import (
	"strings"
	"testing"

	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
)

// Constants names the same runs as the assignments that it stands for. Without it, run names do not
// change.
func TestConstants(t *testing.T) {
	name := func(s Spec) string {
		s.Algorithm, s.Env = "dads-reward", "walker-uni"
		return nb.Must(s.Config()).Name()
	}
	const old = "dads-reward-walker-uni-0-e2445bdd"
	for _, s := range []Spec{{}, {Constants: CodeConstants},
		{Constants: PaperConstants, Tune: runs.Assign("reward_scaling=10")}} {
		if got := name(s); got != old {
			t.Errorf("%+v is %s, want %s", s, got, old)
		}
	}
	if got, want := name(Spec{Constants: PaperConstants}),
		name(Spec{Tune: runs.Assign("reward_scaling=1")}); got != want || got == old {
		t.Errorf("with the paper's constants %s, want %s", got, want)
	}
	if _, err := (Spec{Algorithm: "sac", Env: "walker-uni", Constants: "papr"}).Config(); err == nil ||
		!strings.Contains(err.Error(), `did you mean "paper"?`) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
