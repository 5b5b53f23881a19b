package runs

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

// crashRoot makes this test binary train below the folder it names until it is killed.
const crashRoot = "QDNB_TEST_CRASH_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(crashRoot); root != "" {
		trainForever(root)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func trainForever(root string) {
	defer func() { fmt.Println(recover()) }()
	w := must.Get(Create(root, must.Get(NewConfig("map-elites", "pointmaze", 0, defaults()))))
	_, generation, warnings, err := w.LoadCheckpoint(nil)
	if must.Do(err); len(warnings) > 0 {
		panic(warnings)
	}
	ring := testRing{capacity: 40, width: 1 << 12}
	must.Do(ring.load(w, 30*(generation+1)))
	must.Do(w.Begin(generation, "generation", "qd_score"))
	fmt.Println(generation) // so far
	state := make([]float32, 1<<18)
	for g := generation + 1; ; g++ {
		for i := range state {
			state[i] = float32(g)
		}
		must.Do(w.Log(float64(g), float64(g)*1.1))
		status := w.Status
		status.Generation = g
		must.Do(ring.save(w, 30*(g+1)))
		arrays := gridAt(g).arrays()
		arrays["state"] = npz.Of(state)
		if g%4 == 3 { // a run that is extended again and again
			must.Do(w.StageRepertoire(gridAt(g).repertoire()))
		}
		must.Do(w.SaveCheckpoint(g, arrays, nil))
		must.Do(w.SaveStatus(status))
		fmt.Println(g)
	}
}

// Whenever a process is killed, the next one finds an intact checkpoint at least as new as reported
// and as the status says, with all log rows and replay buffer rows up to it.
func TestKilledAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: killing processes takes seconds")
	}
	root := t.TempDir()
	reached := int64(-1)
	for attempt := range 12 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashRoot+"="+root)
		out := must.Get(cmd.StdoutPipe())
		must.Do(cmd.Start())
		said, took := bufio.NewScanner(out), 50*time.Millisecond
		listen := func() bool {
			if !said.Scan() {
				return false
			}
			if _, err := fmt.Sscanf(said.Text()+".", "%d.", &reached); err != nil {
				cmd.Process.Kill()
				cmd.Wait()
				t.Fatalf("the process said %q", said.Text())
			}
			return true
		}
		// The process reaches a fixed generation, however slow the machine, and is killed at some point
		// in the next one.
		for range 1 + attempt%3 {
			begun := time.Now()
			listen()
			took = time.Since(begun)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(min(took, time.Second)) + 1)))
		must.Do(cmd.Process.Kill())
		for listen() {
		}
		cmd.Wait() // an error, since it was killed

		w := create(t, root) // the lock is free again
		arrays, generation, warnings, err := w.LoadCheckpoint(nil)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%q, %v", warnings, err)
		}
		if generation < reached || generation < w.Status.Generation-1 {
			t.Fatalf("generation %d after %d, status %d", generation, reached, w.Status.Generation)
		}
		reached = generation
		must.Do((&testRing{capacity: 40, width: 1 << 12}).load(w, 30*(generation+1)))
		if generation >= 0 {
			state := must.Get(arrays["state"].Float32s())
			if state[0] != float32(generation) || state[len(state)-1] != float32(generation) {
				t.Fatalf("generation %d holds %v", generation, state[0])
			}
			for name, want := range gridAt(generation).arrays() {
				if name != "state" && !reflect.DeepEqual(arrays[name], want) {
					t.Fatalf("generation %d: %s is %v", generation, name, arrays[name])
				}
			}
			must.Do(w.Begin(generation, "generation", "qd_score"))
			table := must.Get(w.Metrics())
			if len(table.Rows) != int(generation)+1 {
				t.Fatalf("generation %d has %d rows", generation, len(table.Rows))
			}
		}
		must.Do(w.Close())
	}
	if reached < 3 {
		t.Errorf("no process came beyond generation %d", reached)
	}
}
