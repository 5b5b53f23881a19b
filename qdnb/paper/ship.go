package paper

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// aboutFile is the file that a shipped folder has and other experiments folders lack. Its
// runs are written by shipRun.
const aboutFile = "about.json"

// shippedFolder is the path of the shipped folder in a checkout.
var shippedFolder = filepath.Join("notebooks", "results")

// About says where shipped runs come from.
type About struct {
	Scale   string `json:"scale"`            // such as "medium"
	Machine string `json:"machine"`          // that trained the runs
	Commit  string `json:"commit,omitempty"` // of the program that trained them
}

// complete sets a missing machine or commit to those that the runs record.
func (a *About) complete(trained []*runs.Run) error {
	var machines, commits []string
	add := func(list *[]string, text string) {
		if text != "" {
			*list = lists.With(*list, text)
		}
	}
	for _, run := range trained {
		for _, use := range run.Status.Machines {
			add(&machines, use.Machine)
			add(&commits, use.Commit)
		}
	}
	a.Machine = cmp.Or(a.Machine, strings.Join(machines, "; "))
	a.Commit = cmp.Or(a.Commit, strings.Join(commits, ", "))
	if a.Machine == "" {
		return errors.New("the runs do not record their machine: name it with --machine")
	}
	return nil
}

// Shipped reports whether an experiments folder was written by [Ship].
func Shipped(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, aboutFile))
	return err == nil
}

// Shipment is what [Ship] wrote.
type Shipment struct {
	Runs, Left int   // runs that were shipped, and lines of the plan that are not complete
	Bytes      int64 // of all files
}

// Ship writes the data that figures need from the complete runs of a plan to a folder: the lines of
// these runs as plan.jsonl, their configurations, statuses, thinned and rounded metrics,
// repertoires without genotypes, and thinned trajectories of some skills. It replaces a folder that
// it wrote before, and refuses to replace any other. The same runs give the same bytes.
func Ship(dir string, lines []sweep.Line, runsFolder string, about About) (Shipment, error) {
	var s Shipment
	if _, err := os.Stat(dir); err == nil && !Shipped(dir) {
		return s, fmt.Errorf("%s exists and holds no shipped runs: choose another folder", dir)
	}
	next := filepath.Clean(dir) + ".new"
	if err := errors.Join(os.RemoveAll(next), os.MkdirAll(next, 0o777)); err != nil {
		return s, err
	}
	defer os.RemoveAll(next)
	if err := s.write(next, lines, runsFolder, about); err != nil {
		return s, err
	}
	return s, errors.Join(os.RemoveAll(dir), os.Rename(next, dir))
}

// write fills an empty folder.
func (s *Shipment) write(dir string, lines []sweep.Line, runsFolder string, about About) error {
	var shipped []sweep.Line
	var trained []*runs.Run
	done := map[string]bool{}
	for _, state := range sweep.Inspect(runsFolder, lines) {
		name := state.Run.Name()
		if state.Err != nil {
			return state.Err
		}
		if state.Status != sweep.Done {
			s.Left++
			continue
		}
		shipped = append(shipped, state.Line)
		if done[name] {
			continue
		}
		done[name] = true
		run, err := runs.Open(filepath.Join(runsFolder, name))
		if err != nil {
			return err
		}
		if err := shipRun(run, dir); err != nil {
			return err
		}
		trained = append(trained, run)
	}
	if s.Runs = len(done); s.Runs == 0 {
		return fmt.Errorf("no run of the plan is complete in %s", runsFolder)
	}
	if err := atomicfile.Write(filepath.Join(dir, PlanFile),
		func(w io.Writer) error { return sweep.Write(w, shipped) }); err != nil {
		return err
	}
	if err := about.complete(trained); err != nil {
		return err
	}
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, aboutFile), append(text, '\n')); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			s.Bytes += info.Size()
		}
		return err
	})
}

// Rows of a shipped metrics.csv: at most evenRows at equal distances, for linear axes, and
// ratioRows at equal ratios, for logarithmic ones.
const (
	evenRows  = 150
	ratioRows = 120
)

// metricsDigits is the number of significant digits in a shipped metrics.csv: more than figures and
// tables show.
const metricsDigits = 6

// shipRun writes the data that figures need from a finished run to a shipped folder: a few tens of
// kilobytes in a folder with the same files. metrics.csv is thinned and rounded, the repertoire and
// its snapshots have no genotypes (see [runs.Run.ShipRepertoire]), and skills.npz has no policy. The
// same run gives the same bytes.
func shipRun(run *runs.Run, folder string) error {
	dir := filepath.Join(folder, RunsFolder, run.Name())
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, name := range []string{"config.json", "status.json"} {
		data, err := os.ReadFile(filepath.Join(run.Dir, name))
		if err == nil {
			err = atomicfile.WriteBytes(filepath.Join(dir, name), data)
		}
		if err != nil {
			return err
		}
	}
	if run.HasMetrics() {
		table, err := run.Metrics()
		if err == nil && slices.Contains(table.Columns, "skill") {
			err = thinAdaptation(run, table)
		} else if err == nil {
			thin(table)
		}
		if err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(filepath.Join(dir, "metrics.csv"), roundedCSV(table)); err != nil {
			return err
		}
	}
	if run.HasRepertoire() {
		if err := run.ShipRepertoire(dir); err != nil {
			return err
		}
	}
	if !run.HasSkills() {
		return nil
	}
	skills, err := run.Evaluation()
	if err == nil && skills.Steps() > 0 {
		err = thinTrajectories(run, skills)
	}
	if err != nil {
		return err
	}
	skills.Policy, skills.Extra = nil, nil
	return skills.Write(filepath.Join(dir, "skills.npz"))
}

// thin removes rows of a long table.
func thin(t *runs.Table) {
	n := len(t.Rows)
	if n <= evenRows+ratioRows {
		return
	}
	var kept []int
	for i := range evenRows {
		kept = append(kept, (n-1)*i/(evenRows-1))
	}
	for i := range ratioRows {
		kept = append(kept, int(math.Round(math.Pow(float64(n), float64(i)/(ratioRows-1))))-1)
	}
	slices.Sort(kept)
	var rows [][]float64
	for _, i := range slices.Compact(kept) {
		rows = append(rows, t.Rows[i])
	}
	t.Rows = rows
}

// thinAdaptation keeps the rows of the skills that are the best under some value of a perturbation
// or on average, and adds the number of evaluated skills.
func thinAdaptation(run *runs.Run, t *runs.Table) error {
	a, err := run.Adaptation()
	if err != nil {
		return err
	}
	count := map[float64]float64{} // by index
	kept := map[float64]bool{float64(a.BestOnAverage()): true}
	for _, v := range a.Values {
		count[float64(v.Index)] = float64(v.Count)
		best, _ := v.Best()
		kept[float64(best)] = true
	}
	if kept[-1] { // no skill has a score
		kept[float64(a.Values[0].Skills[0])] = true
	}
	skill, index := slices.Index(t.Columns, "skill"), slices.Index(t.Columns, "index")
	if !slices.Contains(t.Columns, "skills") {
		t.Columns = append(t.Columns, "skills")
		for i, row := range t.Rows {
			t.Rows[i] = append(row, count[row[index]])
		}
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(row []float64) bool { return !kept[row[skill]] })
	return nil
}

// roundedCSV returns a table as CSV. Numbers other than integers, such as counts of environment
// steps, are rounded to metricsDigits.
func roundedCSV(t *runs.Table) []byte {
	var text bytes.Buffer
	text.WriteString(strings.Join(t.Columns, ",") + "\n")
	for _, row := range t.Rows {
		fields := make([]string, len(row))
		for i, v := range row {
			if v != math.Trunc(v) {
				v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', metricsDigits, 64), 64)
			}
			fields[i] = runs.FormatNumber(v)
		}
		text.WriteString(strings.Join(fields, ",") + "\n")
	}
	return text.Bytes()
}

// The trajectories of shipped skills.
const (
	shippedEpisodes = 10  // of each skill
	shippedSteps    = 100 // positions of each episode
)

// thinTrajectories keeps the first shippedEpisodes episodes of each skill. Of the positions that
// figures draw, those of the first episode, it keeps shippedSteps; the rest is NaN. The last two
// positions are kept, because they mark the end of the episode; see [figures.Arena.AddSkills].
func thinTrajectories(run *runs.Run, s *runs.Skills) error {
	arena, err := figures.ArenaOf(run.Config.Env)
	if err != nil { // no figure draws them
		s.Trajectories = nil
		return nil
	}
	if err := arena.AddSkills(run); err != nil {
		return err
	}
	nan := float32(math.NaN())
	dims, steps, count := s.Dims(), s.Steps(), map[int]int{}
	thin := runs.Skills{Observations: s.Observations, Actions: s.Actions, Count: s.Count, Hidden: s.Hidden}
	for i, skill := range s.Which {
		if count[skill]++; count[skill] > shippedEpisodes {
			continue
		}
		thin.Which = append(thin.Which, skill)
		thin.Fitnesses = append(thin.Fitnesses, s.Fitnesses[i])
		thin.Descriptors = append(thin.Descriptors, s.Descriptors[i*dims:(i+1)*dims]...)
		positions := s.Trajectories[2*i*steps : 2*(i+1)*steps]
		kept := spread(len(arena.Paths[i].X), shippedSteps)
		for k := range shippedSteps {
			if k < len(kept) {
				thin.Trajectories = append(thin.Trajectories, positions[2*kept[k]], positions[2*kept[k]+1])
			} else {
				thin.Trajectories = append(thin.Trajectories, nan, nan)
			}
		}
	}
	*s = thin
	return nil
}

// spread returns at most k indices below n, about equally spaced. The first and the last two are
// among them.
func spread(n, k int) []int {
	var kept []int
	for i := range min(n, k) {
		switch {
		case n <= k:
			kept = append(kept, i)
		case i == k-1:
			kept = append(kept, n-1)
		default:
			kept = append(kept, i*(n-2)/(k-2))
		}
	}
	return kept
}

// Remark is a text in Markdown; "" shows nothing.
type Remark string

// OfShipped returns a text about the shipped runs, and none for other runs.
func OfShipped(d *Data, text string) (Remark, error) {
	if d.About == nil {
		return "", nil
	}
	return Remark(text), nil
}

// Show displays the text below the cell in a notebook, and prints it elsewhere.
func (r Remark) Show(string) error {
	if r != "" && cell.In() {
		return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextMarkdown: string(r)})
	}
	if r != "" {
		fmt.Println(r)
	}
	return nil
}
