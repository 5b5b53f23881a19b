package faults

import (
	"testing"
	"time"
)

// kills is the number of times that a process of each subject is killed: over a hundred in all.
const kills = 8

// Runs that are killed at random moments and restarted each time end with the bytes of an
// undisturbed run.
func TestKilledAtRandomMoments(t *testing.T) {
	begin(t)
	total := 0
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			want, alone := undisturbed(t, s)
			random := dice(t)
			killed, rounds := 0, 0
			for ; killed < kills; rounds++ {
				root := t.TempDir()
				for done := false; !done; {
					p := start(t, s.command(t, root)...)
					if killed < kills*(rounds+1)/2 { // a round has several; the last process of each is left alone
						time.Sleep(time.Duration(random.Float64() * float64(alone.took) * 0.7))
						_ = p.cmd.Process.Kill()
					}
					var e ending
					e, done = p.killedOrDone(&killed)
					if e.stderr != "" && s.command(t, root)[0] == "train" {
						t.Errorf("a process says %q", e.stderr)
					}
				}
				same(t, s, root, want)
				if rounds > 100 {
					t.Fatalf("%d kills in %d rounds", killed, rounds)
				}
			}
			total += killed
			t.Logf("%s: %d kills in %d runs of %v", s.name, killed, rounds,
				alone.took.Round(time.Millisecond))
		})
	}
	t.Logf("%d kills in all", total)
}
