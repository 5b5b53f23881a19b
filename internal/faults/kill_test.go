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

// moment is when a process may be killed.
type moment struct {
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
func killedAndRestarted(t *testing.T, s subject, kills int, silent bool, strike func(m moment)) {
	t.Helper()
	want, alone := undisturbed(t, s)
	m := moment{random: dice(t), alone: alone.took}
	for ; m.killed < kills; m.round++ {
		if m.round > 100 {
			t.Fatalf("%d kills in %d rounds", m.killed, m.round)
		}
		m.root = t.TempDir()
		m.k = 0
		for done := false; !done; m.k++ {
			m.before = checkpoints(t, s, m.root)
			m.process = start(t, s.command(t, m.root)...)
			strike(m)
			var e ending
			if e, done = m.killedOrDone(&m.killed); silent && e.stderr != "" {
				t.Errorf("a process says %q", e.stderr)
			}
		}
		same(t, s, m.root, want)
	}
	t.Logf("%s: %d kills in %d runs of %v", s.name, m.killed, m.round, alone.took.Round(time.Millisecond))
}

// Runs are killed at random moments.
func TestKilledAtRandomMoments(t *testing.T) {
	begin(t)
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			killedAndRestarted(t, s, kills, s.command(t, t.TempDir())[0] == "train", func(m moment) {
				if m.killed < kills*(m.round+1)/2 { // a round has several; the last process of each is left alone
					time.Sleep(time.Duration(m.random.Float64() * float64(m.alone) * 0.7))
					_ = m.cmd.Process.Kill()
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
			killedAndRestarted(t, s, killsOnXLA, false, func(m moment) {
				switch {
				case m.k == 0:
					time.Sleep(time.Duration(m.random.Float64() * 0.9 * float64(m.alone)))
					_ = m.cmd.Process.Kill()
				case m.k < killsOnXLA:
					began(t, s, m.process, m.root, m.before)
					time.Sleep(time.Duration(m.random.IntN(100)) * time.Millisecond)
					_ = m.cmd.Process.Kill()
				}
			})
		})
	}
}
