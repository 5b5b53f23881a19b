package faults

import (
	"testing"
	"time"

	"example.com/qdnb/qdnb"
)

// killsOnXLA is the number of kills per subject on XLA, where a small run mostly compiles.
const killsOnXLA = 3

// TestKilledOnXLA is [TestKilledAtRandomMoments] with XLA's threads. The first process of a round
// is killed at any moment, mostly while it compiles, the others some time after a checkpoint.
func TestKilledOnXLA(t *testing.T) {
	begin(t)
	onXLA(t)
	for _, algorithm := range []string{"map-elites", "pga-aurora", "smerl-dads"} {
		spec := ants(algorithm)
		if algorithm == "map-elites" {
			spec.Budget = qdnb.Generations(200)
		}
		s := training(spec)
		t.Run(s.name, func(t *testing.T) {
			want, alone := undisturbed(t, s)
			random := dice(t)
			killed, rounds := 0, 0
			for ; killed < killsOnXLA; rounds++ {
				if rounds == 20 {
					t.Fatalf("%d kills in %d rounds", killed, rounds)
				}
				root := t.TempDir()
				for k, done := 0, false; !done; k++ {
					before := checkpoints(t, s, root)
					p := start(t, s.command(t, root)...)
					switch {
					case k == 0:
						time.Sleep(time.Duration(random.Float64() * 0.9 * float64(alone.took)))
						_ = p.cmd.Process.Kill()
					case k < killsOnXLA:
						began(t, s, p, root, before)
						time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
						_ = p.cmd.Process.Kill()
					}
					_, done = p.killedOrDone(&killed)
				}
				same(t, s, root, want)
			}
			t.Logf("%s: %d kills in %d runs of %v", s.name, killed, rounds,
				alone.took.Round(time.Millisecond))
		})
	}
}
