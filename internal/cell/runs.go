package cell

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/lists"
)

// RunsKey is the key of an output's metadata under which the runs that it shows are recorded: the path of each
// from the folder of the notebook, and the generation that it had reached.
const RunsKey = "qdnb_runs"

// PlansKey is the key under which folders of runs are recorded of which an output shows all: the path of each as in
// RunsKey, and a text that identifies its runs.
const PlansKey = "qdnb_plans"

// TrainedKey is the key that marks an output of a cell that trained its runs.
const TrainedKey = "qdnb_trained"

// read are the runs and the plans whose data the program has read, by folder, since an output showed those read before.
var read struct {
	sync.Mutex
	runs  map[string]int
	plans map[string]string
	drawn map[string]bool // runs of these plans that the output shows; true: opened, not a row of the plan's results
	shown bool
	begun bool // a figure, since the last output
}

// Uses says that data of a run were read, which the next output therefore shows. A run of a plan is recorded as part of
// the plan.
func Uses(dir string, generation int64) {
	if reads(dir, true) {
		return
	}
	read.Lock()
	defer read.Unlock()
	forget()
	read.runs[Path(dir)] = int(generation)
}

// Reads says that the results of a run of a plan were read, which the next output therefore shows.
func Reads(dir string) { reads(dir, false) }

// reads reports whether the run is one of a plan that was read.
func reads(dir string, opened bool) bool {
	read.Lock()
	defer read.Unlock()
	plans := read.plans
	if plans[planOf(dir)] == "" {
		return false
	}
	if forget(); read.drawn == nil {
		read.plans, read.drawn = plans, map[string]bool{} // another output of the same plans
	}
	read.drawn[Path(dir)] = read.drawn[Path(dir)] || opened
	return true
}

// UsesPlan says that data of all runs of a plan's folder were read, which a text such as "214 runs, 1a2b3c4d" identifies.
func UsesPlan(dir, text string) {
	read.Lock()
	defer read.Unlock()
	forget()
	read.plans[Path(dir)] = text
	maps.DeleteFunc(read.runs, func(run string, _ int) bool { return planOf(run) == Path(dir) })
	maps.DeleteFunc(read.drawn, func(run string, _ bool) bool { return planOf(run) == Path(dir) })
}

// planOf returns the folder of the plan that a run may belong to.
func planOf(dir string) string { return Path(filepath.Join(dir, "..", "..")) }

// forget drops what an output has shown.
func forget() {
	if read.runs == nil || read.shown {
		read.runs, read.plans, read.drawn = map[string]int{}, map[string]string{}, nil
		read.shown, read.begun = false, false
	}
}

// Complete says that an output is complete: what is read from now on is for another one.
func Complete() {
	read.Lock()
	defer read.Unlock()
	read.shown = true
}

// Begin says that a figure of runs is drawn, which does not show what was read before to choose them. An output may
// show several such figures.
func Begin() {
	read.Lock()
	defer read.Unlock()
	read.shown = read.shown || !read.begun
	forget()
	read.begun = true
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

// shows returns the runs and plans of the next output: those whose data were read since the last one, or else the same.
func shows() (runs map[string]int, plans map[string]string) {
	read.Lock()
	defer read.Unlock()
	return maps.Clone(read.runs), maps.Clone(read.plans)
}

var hashInName = regexp.MustCompile("[0-9a-f]{8}$")

// Caption names the runs of the output that is being made, by the hashes in the names of their folders or, if there are
// more than three, by their number: those of each plan, with the folder of the plan and the text that identifies it, and
// the others. It is empty if there are none.
func Caption() string {
	runs, plans := shows()
	var parts []string
	for _, dir := range slices.Sorted(maps.Keys(plans)) {
		if drawn := drawnOf(dir); len(drawn) > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s (%s)", named(drawn), path.Base(dir), plans[dir]))
		}
	}
	if others := slices.Sorted(maps.Keys(runs)); len(others) > 3 {
		sum := sha256.Sum256([]byte(strings.Join(lists.Map(others, shortName), "\n")))
		parts = append(parts, fmt.Sprintf("%s, %s", named(others), hex.EncodeToString(sum[:4])))
	} else if len(others) > 0 {
		parts = append(parts, named(others))
	}
	return strings.Join(parts, "; ")
}

// CaptionHTML returns the caption as a line of a page.
func CaptionHTML() string {
	text := Caption()
	if text == "" {
		return ""
	}
	return `<div style="font-size:0.75em;color:gray">` + html.EscapeString(text) + "</div>\n"
}

// drawnOf returns the runs of a plan that the output shows. One that opens runs shows these, and read the results of
// others to choose them.
func drawnOf(plan string) (drawn []string) {
	read.Lock()
	defer read.Unlock()
	var opened []string
	for _, dir := range slices.Sorted(maps.Keys(read.drawn)) {
		if planOf(dir) != plan {
			continue
		}
		if drawn = append(drawn, dir); read.drawn[dir] {
			opened = append(opened, dir)
		}
	}
	if opened != nil {
		return opened
	}
	return drawn
}

func named(dirs []string) string {
	switch short := lists.Map(dirs, shortName); {
	case len(short) == 1:
		return "run " + short[0]
	case len(short) > 3:
		return fmt.Sprintf("%d runs", len(short))
	default:
		return "runs " + strings.Join(short, ", ")
	}
}

func shortName(dir string) string {
	name := path.Base(dir)
	return cmp.Or(hashInName.FindString(name), name)
}

// shownFile lists what outputs of this kernel show.
func shownFile() string {
	return filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), "qdnb-shown.json")
}

// own are the runs that outputs of this execution of a cell show; read guards them.
var own = map[string]int{}

// marked are the runs of which outputs of this execution say that it trained them; read guards them.
var marked = map[string]int{}

// marksID is the id of the output that shows nothing and says so.
var marksID = "qdnb_trained_" + gonbui.UniqueId()

// Trained says in the notebook that the cell trained a run, or loaded what it would train, if no figure of its training
// says it.
func Trained(dir string, generation int64) error {
	read.Lock()
	_, known := marked[Path(dir)]
	marked[Path(dir)] = int(generation)
	metadata := map[string]any{RunsKey: maps.Clone(marked), TrainedKey: "true"}
	read.Unlock()
	if known || !In() {
		return nil
	}
	return display(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextHTML: ""}, DisplayID: marksID,
		Metadata: metadata})
}

// Execution begins another execution of a cell; a program is one, unless a test emulates several.
func Execution() {
	read.Lock()
	defer read.Unlock()
	own, marked, newest = map[string]int{}, map[string]int{}, protocol.DisplayData{}
}

// Shown returns the runs that outputs of earlier executions in this kernel show, as in RunsKey; none outside a notebook.
// A cell that trains several variants shows all of them.
func Shown() map[string]int {
	shown := recorded()
	read.Lock()
	defer read.Unlock()
	maps.DeleteFunc(shown, func(run string, _ int) bool { _, ok := own[run]; return ok })
	return shown
}

func recorded() map[string]int {
	shown := map[string]int{}
	if data, err := os.ReadFile(shownFile()); In() && err == nil {
		_ = json.Unmarshal(data, &shown) // else nothing is known
	}
	return shown
}

// record adds the runs and the plans of an output to its metadata, and the runs to those that Shown returns.
func record(data *protocol.DisplayData) {
	runs, plans := shows()
	if len(runs)+len(plans) == 0 {
		return
	}
	Complete()
	data.Metadata = maps.Clone(data.Metadata)
	if data.Metadata == nil {
		data.Metadata = map[string]any{}
	}
	if len(plans) > 0 {
		data.Metadata[PlansKey] = plans
	}
	if len(runs) == 0 {
		return
	}
	data.Metadata[RunsKey] = runs
	shown := recorded()
	maps.Copy(shown, runs)
	read.Lock()
	maps.Copy(own, runs)
	if data.Metadata[TrainedKey] != nil {
		maps.Copy(marked, runs)
	}
	read.Unlock()
	if text, err := json.Marshal(shown); err == nil && os.Getenv(protocol.GONB_TMP_DIR_ENV) != "" {
		_ = os.WriteFile(shownFile(), text, 0o666) // best effort
	}
}
