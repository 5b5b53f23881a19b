package nb

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
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
