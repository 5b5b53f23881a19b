package runs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// A shipped run is the folder of a finished run, reduced to what figures need: a few tens of
// kilobytes. It has the same files with less in them: metrics.csv is thinned and rounded,
// repertoire.npz has no genotypes and skills.npz no policy. A folder of snapshots is one file with
// fitnesses, because all repertoires of a run have the same cells. Its name is the folder's with
// this suffix.
const shippedSuffix = ".npz"

// Rows of a shipped metrics.csv: at most evenRows at equal distances, for linear axes, and
// ratioRows at equal ratios, for logarithmic ones.
const (
	evenRows  = 150
	ratioRows = 120
)

// metricsDigits is the number of significant digits in a shipped metrics.csv, enough to tell any
// two float32 apart.
const metricsDigits = 9

// maxSnapshots is the number of snapshots that a file can claim: an array without cells needs no
// memory.
const maxSnapshots = 1 << 12

// Ship writes the data that figures need from a finished run below root, without policies: see
// [Run.Repertoire] and [Run.Skills]. skills is the evaluation to ship, whose policy and extra
// arrays are left out; nil for a run without one. The same run gives the same bytes.
func (r *Run) Ship(root string, skills *Skills) error {
	if !r.Status.Finished {
		return fmt.Errorf("%s is not finished: train it to the end first", r.Dir)
	}
	dir := filepath.Join(root, r.Name())
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	config, err := r.Config.file()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, configFile), config); err != nil {
		return err
	}
	status := r.Status
	if status.Log, err = r.shipMetrics(dir); err != nil {
		return err
	}
	if err := errors.Join(r.shipRepertoires(dir), shipSkills(dir, skills)); err != nil {
		return err
	}
	data, err := status.file()
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, statusFileName), data)
}

// shipMetrics writes the thinned and rounded metrics, and returns their seal.
func (r *Run) shipMetrics(dir string) (LogSeal, error) {
	if !r.HasMetrics() {
		return LogSeal{}, nil
	}
	table, err := r.Metrics()
	if err != nil {
		return LogSeal{}, err
	}
	if slices.Contains(table.Columns, skillColumn) {
		err = r.thinAdaptation(table)
	} else {
		table.thin()
	}
	if err != nil {
		return LogSeal{}, err
	}
	table.round()
	text := table.text()
	return LogSeal{int64(len(text)), digest(text)}, atomicfile.WriteBytes(
		filepath.Join(dir, metricsFile), text)
}

// thin removes rows of a long table.
func (t *Table) thin() {
	n := len(t.Rows)
	if n <= evenRows+ratioRows {
		return
	}
	kept := map[int]bool{}
	for i := range evenRows {
		kept[(n-1)*i/(evenRows-1)] = true
	}
	for i := range ratioRows {
		kept[int(math.Round(math.Pow(float64(n), float64(i)/(ratioRows-1))))-1] = true
	}
	var rows [][]float64
	for _, i := range slices.Sorted(maps.Keys(kept)) {
		rows = append(rows, t.Rows[i])
	}
	t.Rows = rows
}

// round rounds all numbers but integers, such as counts of environment steps, to metricsDigits.
func (t *Table) round() {
	for _, row := range t.Rows {
		for i, v := range row {
			if v != math.Trunc(v) {
				row[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', metricsDigits, 64), 64)
			}
		}
	}
}

// thinAdaptation keeps the rows of the skills that are the best under some value of a perturbation
// or on average, and adds the number of evaluated skills.
func (r *Run) thinAdaptation(t *Table) error {
	a, err := r.Adaptation()
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
	skill, index := slices.Index(t.Columns, skillColumn), slices.Index(t.Columns, indexColumn)
	if !slices.Contains(t.Columns, countColumn) {
		t.Columns = append(t.Columns, countColumn)
		for i, row := range t.Rows {
			t.Rows[i] = append(row, count[row[index]])
		}
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(row []float64) bool { return !kept[row[skill]] })
	return nil
}

// text returns the table as CSV.
func (t *Table) text() []byte {
	var text bytes.Buffer
	for i, name := range t.Columns {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(name)
	}
	text.WriteByte('\n')
	for _, row := range t.Rows {
		text.WriteString(formatRow(row))
	}
	return text.Bytes()
}

// shipRepertoires writes the final repertoire without genotypes, and the snapshots.
func (r *Run) shipRepertoires(dir string) error {
	if !r.HasRepertoire() {
		return nil
	}
	final, err := r.RepertoireMap()
	if err != nil {
		return err
	}
	final.Origins = nil // only evaluations of the policies need them
	if err := final.Write(filepath.Join(dir, repertoireFile)); err != nil {
		return err
	}
	return errors.Join(r.shipSnapshots(dir, snapshotsDir, final),
		r.shipSnapshots(dir, correctedDir, final))
}

// shipSnapshots writes the fitnesses of the snapshots in a folder.
func (r *Run) shipSnapshots(dir, folder string, final *Repertoire) error {
	snapshots, err := r.snapshots(folder)
	if err != nil || len(snapshots) == 0 {
		return err
	}
	counts, values := map[string][]int64{}, map[string][]float64{}
	var fitnesses []float32
	for _, s := range snapshots {
		if s.Cells() != final.Cells() || !slices.Equal(s.Centroids, final.Centroids) {
			return fmt.Errorf("%s: its snapshots and its final repertoire have different cells", r.Dir)
		}
		for _, f := range s.fields(s.Episodes > 0) {
			if f.count != nil {
				counts[f.name] = append(counts[f.name], *f.count)
			} else {
				values[f.name] = append(values[f.name], *f.value)
			}
		}
		fitnesses = append(fitnesses, s.Fitnesses...)
	}
	arrays := map[string]npz.Array{fitnessesKey: npz.Of(fitnesses, len(snapshots), final.Cells())}
	for name, column := range counts {
		arrays[name] = npz.Of(column)
	}
	for name, column := range values {
		arrays[name] = npz.Of(column)
	}
	return npz.Write(filepath.Join(dir, folder+shippedSuffix), arrays)
}

// shippedSnapshots reads the snapshots of a shipped run, which have no descriptors.
func (r *Run) shippedSnapshots(path string) ([]Snapshot, error) {
	file, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	final, err := r.RepertoireMap()
	if err != nil {
		return nil, err
	}
	fitnesses, shape, err := floats(file, fitnessesKey, 2)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	n, cells := shape[0], shape[1]
	if cells != final.Cells() || n > maxSnapshots {
		return nil, fmt.Errorf("%s: it has %d snapshots of %d cells, want at most %d of %d, as in %s",
			path, n, cells, maxSnapshots, final.Cells(), repertoireFile)
	}
	snapshots := make([]Snapshot, n)
	columns := map[string][]float64{}
	for i := range snapshots {
		snapshots[i].Repertoire = Repertoire{Dims: final.Dims, Centroids: final.Centroids,
			Fitnesses: fitnesses[i*cells : (i+1)*cells : (i+1)*cells],
			Lower:     final.Lower, Upper: final.Upper, Offset: final.Offset}
		for _, f := range snapshots[i].fields(file.Has(episodesKey)) {
			if columns[f.name] == nil {
				if columns[f.name], err = numbers(file, f.name, n); err != nil {
					return nil, fmt.Errorf("%s: %w", path, err)
				}
			}
			f.set(columns[f.name][i])
		}
	}
	return snapshots, nil
}

// shipSkills writes the evaluation of skills.
func shipSkills(dir string, skills *Skills) error {
	if skills == nil {
		return nil
	}
	shipped := *skills
	shipped.Policy, shipped.Extra = nil, nil
	if err := shipped.Check(); err != nil {
		return fmt.Errorf("skills of %s: %w", dir, err)
	}
	return npz.Write(filepath.Join(dir, skillsFile), shipped.arrays())
}

// shippedWithout is the error of a run whose policies were not shipped.
func (r *Run) shippedWithout() error {
	plan := filepath.Join(filepath.Dir(filepath.Dir(r.Dir)), "plan.jsonl")
	return fmt.Errorf("%s was shipped without its policies: train it again, for example with "+
		"`qdnb sweep run --plan %s`", r.Name(), plan)
}
