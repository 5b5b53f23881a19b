package runs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
)

// Names within a run's folder.
const (
	configFile     = "config.json"
	statusFileName = "status.json"
	metricsFile    = "metrics.csv"
	repertoireFile = "repertoire.npz"
	sourceFile     = "source.txt"
	robotFile      = "robot.json"
	lockFile       = "lock"
	checkpointsDir = "checkpoints"
	snapshotsDir   = "snapshots"
	correctedDir   = "corrected"
	replayDir      = "replay"
	eventsDir      = "tensorboard"
	asideDir       = "set-aside" // in the folder of runs: those that were set aside, which [Find] ignores
)

// Run is a run as read from its folder. For a run in training it is the state at the time of
// opening.
type Run struct {
	Dir    string // path of the folder
	Config Config
	Status Status
}

// Open reads the configuration and status of the run in a folder.
func Open(dir string) (*Run, error) {
	r := &Run{Dir: filepath.Clean(dir), Status: Status{MaxFitness: math.Inf(-1)}}
	file := filepath.Join(r.Dir, configFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, names.Wrongf("no run in %s: it has no %s", r.Dir, configFile)
	} else if err != nil {
		return nil, err
	}
	if r.Config, err = parseConfig(data); err != nil {
		return nil, fmt.Errorf("%s: %w; restore it or move the folder away", file, err)
	}
	whole, _ := filepath.Abs(r.Dir) // of "." or "x/..", too
	if hash := hashInName.FindString(whole); hash != "" && hash != "-"+r.Config.Hash() {
		return nil, fmt.Errorf("%s does not match its folder, whose name ends in %s: it was edited "+
			"or is damaged; restore it or move the folder away", file, hash)
	}
	file = filepath.Join(r.Dir, statusFileName)
	data, err = os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) { // it was killed before it wrote one
		return r, nil
	} else if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &r.Status); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); remove it: training writes a new one", file, names.JSON(err))
	}
	return r, nil
}

// hashInName matches the hash at the end of a folder's name. A name without one is not checked.
var hashInName = regexp.MustCompile(`-[0-9a-f]{8}$`)

// Find opens the runs below root whose folder names match a pattern of path.Match, such as
// "map-elites-*" or "*", sorted by algorithm, environment and seed. Folders without a run are
// skipped. Runs that cannot be read are reported in broken and do not hide the others. It is not an
// error if nothing matches or root does not exist.
func Find(root, pattern string) (found []*Run, broken []error, err error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("cannot read the runs folder; give another one (%w)", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		if match, _ := path.Match(pattern, entry.Name()); !match {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, configFile)); err != nil {
			continue
		}
		run, err := Open(dir)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		found = append(found, run)
	}
	slices.SortFunc(found, func(a, b *Run) int {
		return cmp.Or(cmp.Compare(a.Config.Algorithm, b.Config.Algorithm), cmp.Compare(a.Config.Env, b.Config.Env),
			cmp.Compare(a.Config.Seed, b.Config.Seed), cmp.Compare(a.Dir, b.Dir))
	})
	return found, broken, nil
}

// Given returns an error if one of the runs is nil, as what a call returned together with an error.
func Given(all ...*Run) error {
	if slices.Contains(all, nil) {
		return errors.New("no run: it is nil; check the error of the call that returned it, or use runs.Load")
	}
	return nil
}

// Name returns the name of the run's folder.
func (r *Run) Name() string { return r.Config.Name() }

// String describes the run in a line: its folder, state, progress and results.
func (r Run) String() string {
	s, text := r.Status, r.Dir+": "
	if !s.Finished {
		text += "unfinished, "
	}
	text += fmt.Sprintf("generation %d, %d evaluations", s.Generation, s.Evaluations)
	if !math.IsInf(s.MaxFitness, -1) {
		text += fmt.Sprintf(", max fitness %.6g", s.MaxFitness)
	}
	if s.QDScore != 0 { // adaptation has none
		text += fmt.Sprintf(", QD score %.6g, coverage %.2f %%", s.QDScore, s.Coverage)
	}
	return text
}

// Robot is the path of the robot and the task of a run in an environment that they make, see
// envs.RobotTask; "" if it is another one.
func (r *Run) Robot() string { return r.path(robotFile) }

// Source is the path of the source of the run's custom parts; "" if the run has none.
func (r *Run) Source() string { return r.path(sourceFile) }

// path is the path of a file of the run; "" if there is none.
func (r *Run) path(name string) string {
	if path := filepath.Join(r.Dir, name); exists(path) {
		return path
	}
	return ""
}

// uses is [Given], and says that an output of a notebook may show data of the run.
func (r *Run) uses() error {
	if r != nil {
		cell.Uses(r.Dir, r.Status.Generation)
	}
	return Given(r)
}

// Intact returns an error if results of a finished run are missing, cut off or older than its end.
func (r *Run) Intact() error {
	damaged := ""
	note := func(name string, err error) {
		if err != nil {
			damaged = fmt.Sprintf("its %s is damaged (%s)", name, strings.TrimPrefix(err.Error(), filepath.Join(r.Dir, name)+": "))
		}
	}
	switch {
	case r.Config.Algorithm == "adaptation": // it has no repertoire
	case !r.HasRepertoire():
		damaged = "lacks its " + repertoireFile
	default:
		_, err := readRepertoireFile(filepath.Join(r.Dir, repertoireFile), centroidsPath(r.Dir, r.Config.Env), false)
		note(repertoireFile, err)
	}
	if r.HasSkills() {
		_, err := npz.ReadFile(filepath.Join(r.Dir, skillsFile), readSkills)
		note(skillsFile, err)
	}
	note(metricsFile, r.checkMetrics())
	if damaged == "" {
		return nil
	}
	return fmt.Errorf("%s is finished, but %s: restore that, or --fresh (Spec.Fresh) sets the run aside and "+
		"starts again", r.Dir, damaged)
}

// checkMetrics returns an error if metrics.csv is damaged, or ends before a finished run does.
func (r *Run) checkMetrics() error {
	table, err := ReadTable(filepath.Join(r.Dir, metricsFile))
	if err != nil || !r.Status.Finished || r.Status.Backend == Imported {
		return err
	}
	if n := len(table.Rows); n == 0 || table.Rows[n-1][0] < float64(r.Status.Generation) {
		return fmt.Errorf("it lacks rows up to generation %d", r.Status.Generation)
	}
	return nil
}

// Metrics reads metrics.csv.
func (r *Run) Metrics() (*Table, error) {
	if err := r.uses(); err != nil {
		return nil, err
	}
	table, err := ReadTable(filepath.Join(r.Dir, metricsFile))
	if r.HasMetrics() {
		err = restorable(err)
	}
	return table, err
}

// restorable adds to the error of a damaged file of results what helps.
func restorable(err error) error {
	if err != nil {
		err = fmt.Errorf("%w; restore the file, or train the run again with --fresh (Spec.Fresh)", err)
	}
	return err
}

// Repertoire reads repertoire.npz with its genotypes, which can take hundreds of megabytes; see
// RepertoireMap. A shipped run has none, which is an error.
func (r *Run) Repertoire() (*Repertoire, error) { return r.repertoire(true) }

// RepertoireMap reads repertoire.npz without its genotypes, which is enough to draw the repertoire.
func (r *Run) RepertoireMap() (*Repertoire, error) { return r.repertoire(false) }

func (r *Run) repertoire(genotypes bool) (*Repertoire, error) {
	if err := r.uses(); err != nil {
		return nil, err
	}
	repertoire, err := readRepertoireFile(filepath.Join(r.Dir, repertoireFile), centroidsPath(r.Dir, r.Config.Env), genotypes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s has no %s yet; finish training first", r.Dir, repertoireFile)
	case errors.Is(err, errNoGenotypes):
		return nil, r.shippedWithout()
	}
	return repertoire, restorable(err)
}

// Snapshots reads the snapshots of the repertoire, ordered by generation. Those of a shipped run
// have no descriptors.
func (r *Run) Snapshots() ([]Snapshot, error) { return r.snapshots(snapshotsDir, false) }

// History reads the snapshots with their genotypes, which they have if KeepGenotypes was set (`qdnb train
// --keep-genotypes`).
func (r *Run) History() ([]Snapshot, error) {
	list, err := r.snapshots(snapshotsDir, true)
	if errors.Is(err, errNoGenotypes) {
		return nil, fmt.Errorf("snapshots of %s have no genotypes: train with --keep-genotypes (Spec.KeepGenotypes), "+
			"and with --fresh if the run exists", r.Dir)
	}
	return list, err
}

// Corrected reads the corrected repertoires, ordered by generation;
// none if the run was not corrected. Those of a shipped run have no descriptors.
func (r *Run) Corrected() ([]Snapshot, error) { return r.snapshots(correctedDir, false) }

func (r *Run) snapshots(folder string, genotypes bool) ([]Snapshot, error) {
	if err := r.uses(); err != nil {
		return nil, err
	}
	dir := filepath.Join(r.Dir, folder)
	if path := dir + shippedSuffix; exists(path) {
		if genotypes {
			return nil, errNoGenotypes
		}
		return r.shippedSnapshots(path)
	}
	all, err := generations(dir, snapshotKind)
	if err != nil {
		return nil, err
	}
	var snapshots []Snapshot
	for _, generation := range all {
		s, err := readSnapshot(filepath.Join(dir, generationFile(snapshotKind, generation)), genotypes)
		if err != nil {
			return nil, err
		}
		snapshots = append(snapshots, s)
	}
	return snapshots, nil
}
