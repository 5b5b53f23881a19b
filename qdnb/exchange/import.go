// Package exchange imports policies and repertoires of other programs as runs, and exports the policies
// and repertoires of runs.
package exchange

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// ImportSpec configures [Import]: a policy or a repertoire of another program.
type ImportSpec struct {
	Algorithm string // that found it
	Env       string // see [envs.Names]
	Seed      int64

	// Policy is an .npy file with the parameters of a skill-conditioned policy, float32 or float64
	// [N]: for each layer the bias, then the kernel [in, out]. The network maps the observation and
	// the one-hot skill to the means and scales of the actions. It requires a skill-discovery
	// algorithm such as SAC, DIAYN or DADS.
	Policy string

	// Repertoire is a folder with genotypes.npy [cells, N], fitnesses.npy [cells], descriptors.npy
	// and centroids.npy [cells, d], or an .npz file with arrays of these names. An empty cell has
	// fitness -Inf. It requires a quality-diversity algorithm.
	Repertoire string

	// Set sets what the files do not contain: hidden=[256,256], episode_length=250, and skills=5
	// for a policy that is conditioned on a skill.
	Set []string

	Runs string // folder of the runs; [runs.Folder] if empty
}

// importSettings are the hyperparameters that can be set. The defaults are the paper's.
type importSettings struct {
	Hidden        []int `json:"hidden"`
	EpisodeLength int   `json:"episode_length"`
	// Normalises is true if rows end in the means and deviations of the observations, see [nn.MLP]. It
	// follows from their length.
	Normalises bool `json:"normalize_observations,omitempty"`
}

// skillSettings are the hyperparameters of a policy that is conditioned on a skill.
type skillSettings struct {
	importSettings
	Skills int `json:"skills"`
}

// importedSettings are the known hyperparameters, and a hash that makes the run unique.
type importedSettings struct {
	importSettings
	Cells    int    `json:"cells,omitempty"`
	Skills   int    `json:"skills,omitempty"`
	Imported string `json:"imported"` // SHA-256 of the arrays
}

// Import makes a finished run of a policy or repertoire of another program, so that it can be
// shown, evaluated and exported. It never overwrites a run: the SHA-256 of the arrays is a
// hyperparameter and thus determines the folder's name, so importing the same arrays again finds
// the existing run. A failed import leaves nothing behind.
func Import(s ImportSpec) (*runs.Run, error) {
	algorithm, err := registry.Find(s.Algorithm)
	if err != nil {
		return nil, err
	}
	env, err := envs.Make(s.Env)
	if err != nil {
		return nil, err
	}
	s.Runs = cmp.Or(s.Runs, runs.Folder())
	discovery, discovers := algorithm.Defaults(env.Spec()).(interface{ Count() int }) // of skills
	switch {
	case (s.Policy == "") == (s.Repertoire == ""):
		return nil, names.Wrongf("an import needs either a policy or a repertoire: give one of --policy and --repertoire")
	case s.Policy != "" && !discovers:
		return nil, names.Wrongf("%s trains a repertoire, not one policy: give --repertoire", s.Algorithm)
	case s.Repertoire != "" && discovers:
		return nil, names.Wrongf("%s trains one policy, not a repertoire: give --policy", s.Algorithm)
	case discovers:
		return s.importPolicy(env, discovery.Count())
	}
	return s.importRepertoire(env)
}

// assign sets target, which contains settings, to the paper's defaults and then as s.Set says. It
// rejects invalid values.
func (s ImportSpec) assign(env envs.Spec, settings *importSettings, target any) error {
	base := evolution.DefaultMapElites(env)
	*settings = importSettings{Hidden: base.Hidden, EpisodeLength: base.EpisodeLength}
	if err := runs.Set(target, s.Set...); err != nil {
		return err
	}
	base.Hidden, base.EpisodeLength = settings.Hidden, settings.EpisodeLength
	return base.Check()
}

// importPolicy imports a policy. count is the paper's number of skills, 0 for a policy without.
func (s ImportSpec) importPolicy(in envs.Env, count int) (*runs.Run, error) {
	env := in.Spec()
	settings := skillSettings{Skills: count}
	var target any = &settings
	if count == 0 {
		target = &settings.importSettings // without the field skills
	}
	if err := s.assign(env, &settings.importSettings, target); err != nil {
		return nil, err
	}
	if err := limits.Int("skills", settings.Skills, min(1, count), maxSkills); err != nil {
		return nil, err
	}
	row, err := floats(readNPY(s.Policy))
	if err != nil {
		return nil, err
	}
	if len(row.Shape) != 1 {
		return nil, fmt.Errorf("%s has shape %v: a policy must be flat, [N]", s.Policy, row.Shape)
	}
	policy := row.Data.([]float32)
	skills := &runs.Skills{Observations: env.Observations, Actions: env.Actions,
		Count: settings.Skills, Hidden: settings.Hidden, Policy: policy}
	if want := runs.Row(skills.Sizes()); len(policy) != want {
		return nil, fmt.Errorf("%s has %d parameters, but %s on %s needs %d (%s): set hidden "+
			"and skills", s.Policy, len(policy), s.Algorithm, s.Env, want, layers(skills))
	}
	if err := skills.Check(); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(policy, notFinite); i >= 0 {
		return nil, fmt.Errorf("%s: parameter %d is %g, not a finite float32", s.Policy, i, policy[i])
	}
	written := importedSettings{importSettings: settings.importSettings, Skills: settings.Skills,
		Imported: digest(map[string]npz.Array{"policy": row})}
	return s.write(env, written, runs.Status{MaxFitness: math.Inf(-1)},
		func(w *runs.Writer) error { return w.SaveSkills(skills) })
}

// layers formats the layer sizes of a network as in "7 -> 8 -> 8 -> 4".
func layers(s *runs.Skills) string {
	text := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(s.Sizes()), "[]")), " -> ")
	if s.Count > 0 {
		return fmt.Sprintf("%s, %d observations and %d skills", text, s.Observations, s.Count)
	}
	return text
}

// maxSkills is the largest number of skills; a larger one is treated as a typing error.
const maxSkills = 1 << 14

func (s ImportSpec) importRepertoire(env envs.Env) (*runs.Run, error) {
	spec := env.Spec()
	if spec.Descriptor.Kind == envs.None {
		return nil, names.Wrongf("%s has no descriptor, which a repertoire needs", spec.Name)
	}
	var settings importSettings
	if err := s.assign(spec, &settings, &settings); err != nil {
		return nil, err
	}
	task := scoring.NewTask(env, settings.Hidden, settings.EpisodeLength)
	arrays, err := readRepertoire(s.Repertoire)
	if err != nil {
		return nil, err
	}
	normalised := task.MLP()
	normalised.Normalises = true
	if shape := arrays["genotypes"].Shape; len(shape) == 2 && shape[1] == normalised.Params() && spec.Observations > 0 {
		settings.Normalises, task.Policy = true, normalised
	}
	d := spec.Descriptor
	r := &runs.Repertoire{
		Params: task.Policy.Params(), Dims: len(d.Lower), Lower: d.Lower, Upper: d.Upper,
		Offset: task.QDOffset(),
	}
	for name, field := range map[string]*[]float32{"genotypes": &r.Genotypes, "fitnesses": &r.Fitnesses,
		"descriptors": &r.Descriptors, "centroids": &r.Centroids} {
		*field = arrays[name].Data.([]float32)
	}
	cells := arrays["fitnesses"].Shape[0]
	if cells == 0 {
		return nil, fmt.Errorf("%s has no cells", s.Repertoire)
	}
	policies := fmt.Sprintf("policies of %s with hidden layers of %v", s.Env, settings.Hidden)
	for _, part := range []struct {
		name, unit, of string
		width          int
	}{
		{"genotypes", "parameters", policies, r.Params},
		{"descriptors", "components", "descriptors of " + s.Env, r.Dims},
		{"centroids", "components", "descriptors of " + s.Env, r.Dims},
	} {
		shape, rows := arrays[part.name].Shape, cells
		if part.name == "genotypes" && shape[0] != cells {
			rows = len(r.Filled()) // as qdnb stores them
		}
		if slices.Equal(shape, []int{rows, part.width}) {
			continue
		}
		return nil, fmt.Errorf("%s: %s has shape %v, not [%d %d]: it has %d fitnesses, and %s have "+
			"%d %s", s.Repertoire, part.name, shape, cells, part.width, cells, part.of, part.width, part.unit)
	}
	if err := clean(r); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Repertoire, err)
	}
	// files with the rows of empty cells and without have the same digest
	arrays["genotypes"] = npz.Of(r.AllGenotypes(), cells, r.Params)
	written := importedSettings{importSettings: settings, Cells: cells, Imported: digest(arrays)}
	stats := r.Stats()
	status := runs.Status{MaxFitness: stats.MaxFitness, Coverage: stats.Coverage, QDScore: stats.QDScore}
	return s.write(spec, written, status, func(w *runs.Writer) error {
		if err := w.SaveSnapshot(runs.Snapshot{Repertoire: *r}); err != nil {
			return err
		}
		return w.SaveRepertoire(r)
	})
}

// clean zeroes the contents of empty cells and rejects values that are not finite.
func clean(r *runs.Repertoire) error {
	genotypes := r.Rows()
	for cell, fitness := range r.Fitnesses {
		genotype, descriptor := genotypes[cell], r.Descriptor(cell)
		switch {
		case fitness != fitness || math.IsInf(float64(fitness), 1):
			return fmt.Errorf("the fitness of cell %d is %g; use -inf for an empty cell", cell, fitness)
		case slices.ContainsFunc(r.Centroid(cell), notFinite):
			return fmt.Errorf("the centroid of cell %d is %g", cell, r.Centroid(cell))
		case math.IsInf(float64(fitness), -1):
			clear(genotype)
			clear(descriptor)
		case slices.ContainsFunc(descriptor, notFinite):
			return fmt.Errorf("the descriptor of cell %d is %g, though its fitness is %g", cell, descriptor, fitness)
		case slices.ContainsFunc(genotype, notFinite):
			return fmt.Errorf("the genotype of cell %d has values that are not finite, though its fitness is %g", cell, fitness)
		}
	}
	return nil
}

func notFinite(x float32) bool { return x-x != 0 }

func (s ImportSpec) write(env envs.Spec, settings importedSettings, status runs.Status,
	save func(*runs.Writer) error) (*runs.Run, error) {
	config, err := runs.NewConfig(s.Algorithm, s.Env, s.Seed, settings)
	if err != nil {
		return nil, err
	}
	status.Finished, status.Backend = true, runs.Imported
	status.Version, _ = session.Build()
	status.Descriptor = env.Descriptor.Components
	status.Observations, status.Actions = env.Observations, env.Actions
	return runs.Import(s.Runs, config, func(w *runs.Writer) error {
		if err := w.Begin(-1, session.Columns...); err != nil {
			return err
		}
		if err := save(w); err != nil {
			return err
		}
		if settings.Cells > 0 { // one row of metrics, for figures
			if err := w.Log(0, 0, 0, 0, status.MaxFitness, status.Coverage, status.QDScore, 0); err != nil {
				return err
			}
		}
		return w.SaveStatus(status)
	})
}

// readNPY reads an .npy file, and returns its path as the array's name in errors.
func readNPY(path string) (name string, a npz.Array, err error) {
	a, err = npz.ReadNPY(path)
	if errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("%s: %w", path, names.File(err, "give the path of an .npy file"))
	}
	return path, a, err
}

// floats returns an array that was read as one of float32; it rounds float64. Other types are errors.
func floats(name string, a npz.Array, err error) (npz.Array, error) {
	if err != nil {
		return a, err
	}
	if t := a.DType(); t != "float32" && t != "float64" {
		return a, fmt.Errorf("%s has type %s, not float32 or float64", name, t)
	}
	a.Data, err = a.Float32s()
	return a, err
}

// repertoireArrays maps the arrays of a repertoire to their number of axes.
var repertoireArrays = map[string]int{"genotypes": 2, "fitnesses": 1, "descriptors": 2, "centroids": 2}

// readRepertoire reads an .npz file, a folder of .npy files, or a folder with repertoire.npz.
func readRepertoire(path string) (map[string]npz.Array, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, names.Wrongf("there is no repertoire %s: give a folder with genotypes.npy, "+
			"fitnesses.npy, descriptors.npy and centroids.npy, or an .npz file", path)
	}
	file := path
	if info.IsDir() {
		file = filepath.Join(path, "repertoire.npz")
		if _, err := os.Stat(filepath.Join(path, "genotypes.npy")); err == nil {
			file = ""
		} else if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("%s has neither genotypes.npy nor repertoire.npz", path)
		}
	}
	var archive *npz.Reader
	if file != "" {
		if archive, err = npz.Open(file); err != nil {
			return nil, err
		}
		defer archive.Close()
	}
	arrays := map[string]npz.Array{}
	for _, name := range slices.Sorted(maps.Keys(repertoireArrays)) {
		var source string
		var a npz.Array
		if archive != nil {
			source = fmt.Sprintf("%s: %s", file, name)
			if a, err = archive.Read(name); err != nil {
				err = fmt.Errorf("%s: %w", file, err)
			}
		} else {
			source, a, err = readNPY(filepath.Join(path, name+".npy"))
		}
		if a, err = floats(source, a, err); err != nil {
			return nil, err
		}
		// Newer versions of QDax add an axis of objectives.
		if name == "fitnesses" && len(a.Shape) == 2 && a.Shape[1] == 1 {
			a.Shape = a.Shape[:1]
		}
		if axes := repertoireArrays[name]; len(a.Shape) != axes {
			return nil, fmt.Errorf("%s has shape %v, not %s", source, a.Shape, []string{"", "[cells]", "[cells, numbers]"}[axes])
		}
		arrays[name] = a
	}
	return arrays, nil
}

// digest returns the SHA-256 of arrays, whatever the file format.
func digest(arrays map[string]npz.Array) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		a := arrays[name]
		fmt.Fprintln(sum, name, a.Shape)
		_ = binary.Write(sum, binary.LittleEndian, a.Data) // a hash never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}
