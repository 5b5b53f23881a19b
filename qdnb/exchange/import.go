// Package exchange imports policies and repertoires of other programs as runs, and exports those of
// runs.
package exchange

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/envs"
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
}

// skillSettings are the hyperparameters of a policy that is conditioned on a skill.
type skillSettings struct {
	importSettings
	Skills int `json:"skills"`
}

// importedSettings are the hyperparameters of an imported run: the known ones, and a hash that
// makes the run unique.
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
	if s.Runs == "" {
		s.Runs = runs.Folder()
	}
	discovery, discovers := algorithm.Defaults(env.Spec()).(interface{ Count() int }) // of skills
	count := 0
	if discovers {
		count = discovery.Count()
	}
	switch {
	case (s.Policy == "") == (s.Repertoire == ""):
		return nil, errors.New("an import needs either a policy or a repertoire: give one of --policy " +
			"and --repertoire")
	case s.Policy != "" && !discovers:
		return nil, fmt.Errorf("%s trains a repertoire, not one policy: give --repertoire",
			s.Algorithm)
	case s.Repertoire != "" && discovers:
		return nil, fmt.Errorf("%s trains one policy, not a repertoire: give --policy", s.Algorithm)
	case discovers:
		return s.importPolicy(env, count)
	}
	return s.importRepertoire(env)
}

// assign sets target, which contains settings, to the paper's defaults and then as s.Set says. It
// rejects invalid values.
func (s ImportSpec) assign(env envs.Spec, settings *importSettings, target any) error {
	base := evolution.DefaultMapElites(env)
	*settings = importSettings{base.Hidden, base.EpisodeLength}
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
	if least := min(1, count); settings.Skills < least || settings.Skills > maxSkills {
		return nil, fmt.Errorf("skills must be between %d and %d, not %d", least, maxSkills,
			settings.Skills)
	}
	row, err := readFloats(npyFile(s.Policy))
	if err != nil {
		return nil, err
	}
	if len(row.Shape) != 1 {
		return nil, fmt.Errorf("%s has shape %v: a policy must be flat, [N]", s.Policy, row.Shape)
	}
	skills := &runs.Skills{Observations: env.Observations, Actions: env.Actions,
		Count: settings.Skills, Hidden: settings.Hidden, Policy: row.data}
	if want := runs.Row(skills.Sizes()); len(row.data) != want {
		return nil, fmt.Errorf("%s has %d parameters, but %s on %s needs %d (%s): set hidden "+
			"and skills", s.Policy, len(row.data), s.Algorithm, s.Env, want, layers(skills))
	}
	if err := skills.Check(); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(row.data, notFinite); i >= 0 {
		return nil, fmt.Errorf("%s: parameter %d is %g, not a finite float32", s.Policy, i,
			row.data[i])
	}
	written := importedSettings{importSettings: settings.importSettings, Skills: settings.Skills,
		Imported: digest(map[string]floats{"policy": row})}
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
		return nil, fmt.Errorf("%s has no descriptor, which a repertoire needs", spec.Name)
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
	limits := spec.Descriptor
	r := &runs.Repertoire{
		Params: task.Policy.Params(), Dims: len(limits.Lower), Lower: limits.Lower, Upper: limits.Upper,
		Offset:    task.QDOffset(),
		Genotypes: arrays["genotypes"].data, Fitnesses: arrays["fitnesses"].data,
		Descriptors: arrays["descriptors"].data, Centroids: arrays["centroids"].data,
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
			"%d %s", s.Repertoire, part.name, shape, cells, part.width, cells, part.of, part.width,
			part.unit)
	}
	if err := clean(r); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Repertoire, err)
	}
	// files with the rows of empty cells and without have the same digest
	arrays["genotypes"] = floats{Shape: []int{cells, r.Params}, rows: r.Rows()}
	written := importedSettings{importSettings: settings, Cells: cells, Imported: digest(arrays)}
	stats := r.Stats()
	status := runs.Status{MaxFitness: stats.MaxFitness, Coverage: stats.Coverage,
		QDScore: stats.QDScore}
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
			return fmt.Errorf("the descriptor of cell %d is %g, though its fitness is %g", cell,
				descriptor, fitness)
		case slices.ContainsFunc(genotype, notFinite):
			return fmt.Errorf("the genotype of cell %d has values that are not finite, though its "+
				"fitness is %g", cell, fitness)
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
