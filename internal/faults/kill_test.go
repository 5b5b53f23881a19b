package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.com/qdnb/qdnb"
)

// kills is the number of times that a process of each subject is killed: over a hundred in all.
// killsOnXLA is that on XLA, where a small run mostly compiles.
const kills, killsOnXLA = 8, 3

// kill is the situation in which a process may be killed.
type kill struct {
	random   *rand.Rand
	alone    time.Duration // that an undisturbed process takes
	round, k int           // process k of a round
	killed   int           // so far
	root     string
	before   []string // checkpoints of earlier processes
	*process
}

// killedAndRestarted checks that runs whose processes are killed and restarted end with the bytes of an
// undisturbed run, and say nothing if they are silent. strike may kill a process.
func killedAndRestarted(t *testing.T, s subject, kills int, silent bool, strike func(k kill)) {
	t.Helper()
	want, alone := undisturbed(t, s)
	k := kill{random: dice(t), alone: alone.took}
	for ; k.killed < kills; k.round++ {
		if k.round > 100 {
			t.Fatalf("%d kills in %d rounds", k.killed, k.round)
		}
		k.root = t.TempDir()
		k.k = 0
		for done := false; !done; k.k++ {
			k.before = checkpoints(t, s, k.root)
			k.process = start(t, s.command(t, k.root)...)
			strike(k)
			var e ending
			if e, done = k.killedOrDone(&k.killed); silent && e.stderr != "" {
				t.Errorf("a process says %q", e.stderr)
			}
		}
		same(t, s, k.root, want)
	}
	t.Logf("%s: %d kills in %d runs of %v", s.name, k.killed, k.round, alone.took.Round(time.Millisecond))
}

// Runs are killed at random moments.
func TestKilledAtRandomMoments(t *testing.T) {
	begin(t)
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			killedAndRestarted(t, s, kills, s.command(t, t.TempDir())[0] == "train", func(k kill) {
				if k.killed < kills*(k.round+1)/2 { // a round has several; the last process of each is left alone
					time.Sleep(time.Duration(k.random.Float64() * float64(k.alone) * 0.7))
					_ = k.cmd.Process.Kill()
				}
			})
		})
	}
}

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
			killedAndRestarted(t, s, killsOnXLA, false, func(k kill) {
				switch {
				case k.k == 0:
					time.Sleep(time.Duration(k.random.Float64() * 0.9 * float64(k.alone)))
					_ = k.cmd.Process.Kill()
				case k.k < killsOnXLA:
					began(t, s, k.process, k.root, k.before)
					time.Sleep(time.Duration(k.random.IntN(100)) * time.Millisecond)
					_ = k.cmd.Process.Kill()
				}
			})
		})
	}
}
