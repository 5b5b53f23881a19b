package cell

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// RunsKey is the key of an output's metadata under which the runs that it shows are recorded: the path of each
// from the folder of the notebook, and the generation that it had reached.
const RunsKey = "qdnb_runs"

// TrainedKey is the key that marks an output of a cell that trained its runs.
const TrainedKey = "qdnb_trained"

// read are the runs whose data the program has read, by folder, since an output showed those read before.
var read struct {
	sync.Mutex
	runs  map[string]int
	shown bool
}

// Uses says that data of a run were read, which the next output therefore shows.
func Uses(dir string, generation int64) {
	read.Lock()
	defer read.Unlock()
	if read.runs == nil || read.shown {
		read.runs, read.shown = map[string]int{}, false
	}
	read.runs[Path(dir)] = int(generation)
}

// Begin says that a figure of runs is drawn, which does not show what was read before to choose them.
func Begin() {
	read.Lock()
	defer read.Unlock()
	read.shown = true
}

// Path returns the path of a folder from the current one, which is that of the notebook in a cell.
func Path(dir string) string {
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(dir) {
		if short, err := filepath.Rel(here, dir); err == nil {
			return filepath.ToSlash(short)
		}
	}
	return filepath.ToSlash(filepath.Clean(dir))
}

// Runs returns the runs of the next output: those whose data were read since the last one, or else the same.
func Runs() map[string]int {
	read.Lock()
	defer read.Unlock()
	return maps.Clone(read.runs)
}

var hashInName = regexp.MustCompile("[0-9a-f]{8}$")

// Caption names the runs of the next output: by the hashes in the names of their folders or, if there are more
// than three, by their number and a hash of these names. It is empty if there are none.
func Caption() string {
	var names []string
	for _, dir := range slices.Sorted(maps.Keys(Runs())) {
		name := filepath.Base(dir)
		if hash := hashInName.FindString(name); hash != "" {
			name = hash
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return "run " + names[0]
	case len(names) > 3:
		sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
		return fmt.Sprintf("%d runs, %s", len(names), hex.EncodeToString(sum[:4]))
	}
	return "runs " + strings.Join(names, ", ")
}

// shownFile lists what outputs of this kernel show.
func shownFile() string {
	return filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), "qdnb-shown.json")
}

// Shown returns the runs that outputs of this kernel show, as [Runs] does; none outside a notebook.
func Shown() map[string]int {
	shown := map[string]int{}
	if data, err := os.ReadFile(shownFile()); In() && err == nil {
		_ = json.Unmarshal(data, &shown) // else nothing is known
	}
	return shown
}

// record adds the runs of an output to its metadata, and to those that Shown returns.
func record(data *protocol.DisplayData) {
	runs := Runs()
	if len(runs) == 0 {
		return
	}
	read.Lock()
	read.shown = true
	read.Unlock()
	data.Metadata = maps.Clone(data.Metadata)
	if data.Metadata == nil {
		data.Metadata = map[string]any{}
	}
	data.Metadata[RunsKey] = runs
	shown := Shown()
	maps.Copy(shown, runs)
	if text, err := json.Marshal(shown); err == nil && os.Getenv(protocol.GONB_TMP_DIR_ENV) != "" {
		_ = os.WriteFile(shownFile(), text, 0o666) // best effort
	}
}
