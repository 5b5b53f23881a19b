package nb

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/plot/viewer"
)

type absent struct{}

func (absent) Error() string { return "no runs are shipped" }
func (absent) Absent() bool  { return true }

// Where there is nothing to show, Draw says so instead of ending the cell.
func TestDrawOfNothing(t *testing.T) {
	read, write, err := os.Pipe()
	must.Do(err)
	old := os.Stdout
	os.Stdout = write
	Draw(nil, fmt.Errorf("figure 4: %w", absent{})) // any other error ends the process
	os.Stdout = old
	write.Close()
	text := make([]byte, 1000)
	n, _ := read.Read(text)
	if got := string(text[:n]); !strings.Contains(got, "figure 4: no runs are shipped") {
		t.Errorf("said %q", got)
	}
}

// Draw ends the process, so another one draws.
func TestDrawOfNil(t *testing.T) {
	all := map[string]Drawing{"nil": nil, "panel": (*figures.Panel)(nil), "figure": (*figures.Figure)(nil),
		"table": (*tables.Table)(nil), "page": (*viewer.Page)(nil)}
	if name, ok := os.LookupEnv("QDNB_TEST_DRAW"); ok {
		Draw(all[name], nil)
		return
	}
	for name := range all {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDrawOfNil$")
		cmd.Env = append(os.Environ(), "QDNB_TEST_DRAW="+name)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "qdnb: nothing to draw: the drawing is nil") ||
			strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v, said %q; want one line and an exit status", name, err, out)
		}
	}
}

// Nothing interrupts XLA while it compiles: the first signal is answered at once, and the second one ends the process.
func TestInterruptedCompilation(t *testing.T) {
	if _, ok := os.LookupEnv("QDNB_TEST_COMPILE"); ok {
		Interruptible()
		Interruptible()
		fmt.Println("compiling")
		time.Sleep(time.Minute)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestInterruptedCompilation$")
	cmd.Env = append(os.Environ(), "QDNB_TEST_COMPILE=")
	out := must.Get(cmd.StdoutPipe())
	cmd.Stderr = cmd.Stdout
	must.Do(cmd.Start())
	lines := bufio.NewReader(out)
	for _, want := range []string{"compiling", "qdnb: stopping"} {
		if line, err := lines.ReadString('\n'); !strings.HasPrefix(line, want) {
			t.Errorf("said %q, %v; want %q", line, err, want)
		}
		must.Do(cmd.Process.Signal(os.Interrupt))
	}
	rest := must.Get(io.ReadAll(lines))
	if err := cmd.Wait(); err == nil || err.Error() != "signal: interrupt" || len(rest) > 0 {
		t.Errorf("after the second signal: %v, %q", err, rest)
	}
}
