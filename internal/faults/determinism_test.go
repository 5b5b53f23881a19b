package faults

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/xla/backend"
)

// determinismEnv enables the tests of the guarantees of docs/reliability.md.
const determinismEnv = "QDNB_DETERMINISM"

// onXLA makes the processes of a test use XLA:CPU.
func onXLA(t *testing.T) {
	t.Helper()
	if plugin == "" {
		t.Skip("SKIPPED: there is no XLA plugin; `make plugin` fetches it")
	}
	t.Setenv(backend.BackendEnv, plugin)
}

// ants is a small run that also compiles the physics of a robot.
func ants(algorithm string) run {
	s := spec(algorithm)
	s.Env = "ant-uni"
	if s.Algorithm == "map-elites" {
		s.Budget = qdnb.Generations(60)
	}
	for i, set := range s.Set {
		if set == "smerl_target=-20" {
			s.Set[i] = "smerl_target=18" // a return that some skills reach
		}
	}
	return s
}

// paperSized is a run of few generations whose networks have the paper's sizes, so that XLA
// distributes their matrix products over all its threads.
func paperSized(algorithm string) run {
	s := run{qdnb.Spec{Algorithm: algorithm, Env: "ant-uni", Seed: 1, Budget: qdnb.Generations(12)},
		[]string{"cells=64", "cvt_samples=500"}}
	if algorithm == "pga-map-elites" {
		s.Set = append(s.Set, "batch=40", "num_critic_training_steps=8", "num_pg_training_steps=5")
	} else {
		s.Set = append(s.Set, "env_batch_size=50", "grad_updates_per_step=0.2", "evaluation_states=4",
			"early_interval=100", "num_skills=3")
	}
	return s
}

// variant is a sequence of processes that completes a run.
type variant struct {
	name string
	env  []string // of the process
	// then is the environment of the process that resumes the run after the first one was stopped at a
	// checkpoint; nil: it is not stopped.
	then []string
}

// Numbers of workers.
var (
	oneWorker  = []string{backend.WorkersEnv + "=1"}
	allWorkers = []string{backend.WorkersEnv + "="}
	tenWorkers = []string{backend.WorkersEnv + "=10"}
)

// The same seed gives the same bytes on XLA:CPU: in a second run, with one worker and with all, and
// when stopped at a checkpoint and resumed with one. All have as many XLA threads as the machine
// has cores: sums are split by threads.
func TestSameBytes(t *testing.T) {
	if os.Getenv(determinismEnv) == "" {
		t.Skip("SKIPPED: it takes some twenty minutes; `make test-determinism`, or QDNB_DETERMINISM=1, runs it")
	}
	onXLA(t)
	if runtime.NumCPU() == 1 {
		t.Log("SKIPPED: several workers, since this machine has one core")
	}
	variants := []variant{
		{"again", allWorkers, nil}, {"one worker", oneWorker, nil},
		{"all workers, then one", allWorkers, oneWorker},
	}
	var subjects []subject
	for _, algorithm := range qdnb.Algorithms() {
		subjects = append(subjects, training(ants(algorithm)))
	}
	for _, s := range append(subjects, adaptation, control) {
		t.Run(s.name, func(t *testing.T) { sameByEach(t, s, variants) })
	}
	t.Run("map-elites with more workers than cores", func(t *testing.T) {
		sameByEach(t, training(ants("map-elites")), []variant{{"ten workers", tenWorkers, nil}})
	})
	for _, algorithm := range []string{"pga-map-elites", "dads-reward"} {
		s := training(paperSized(algorithm))
		t.Run(s.name+" of the paper's size", func(t *testing.T) {
			sameByEach(t, s, []variant{{"again", allWorkers, nil}, {"one worker", oneWorker, nil}})
		})
	}
}

// sameByEach completes a subject's runs in each variant and compares them with the result of all
// workers.
func sameByEach(t *testing.T, s subject, variants []variant) {
	t.Helper()
	want := t.TempDir()
	p := startWith(t, allWorkers, s.command(t, want)...)
	if e := p.wait(); e.status != 0 {
		t.Fatalf("status %d, %s", e.status, e.stderr)
	}
	for _, w := range variants {
		t.Run(w.name, func(t *testing.T) {
			root := t.TempDir()
			if w.then != nil {
				root = stoppedAtCheckpoint(t, s, w.env)
				w.env = w.then
			}
			if e := startWith(t, w.env, s.command(t, root)...).wait(); e.status != 0 {
				t.Fatalf("status %d, %s", e.status, e.stderr)
			}
			same(t, s, root, want)
		})
	}
}

// stoppedAtCheckpoint returns the folder of a subject's runs, stopped by a signal once there were
// some checkpoints.
func stoppedAtCheckpoint(t *testing.T, s subject, env []string) (root string) {
	t.Helper()
	for try := range 10 {
		root = t.TempDir()
		p := startWith(t, env, s.command(t, root)...)
		for range max(1, 3-try) { // a fast run writes few
			began(t, s, p, root, checkpoints(t, s, root))
		}
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		switch e := p.wait(); e.status {
		case 130:
			return root
		case 0: // it finished before the signal: a busy machine
		default:
			t.Fatalf("stopped at a checkpoint: status %d, %s", e.status, e.stderr)
		}
	}
	t.Fatal("it always finishes before it can be stopped")
	return ""
}
