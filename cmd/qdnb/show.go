package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/viewer"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

type showCmd struct {
	runArg
	Figures string `placeholder:"DIR"`
	Format  string `enum:"png,svg,pdf,html" default:"png"`
	JSON    bool   `name:"json"`
	HTML    string `name:"html" placeholder:"FILE"`
	GIF     string `name:"gif" placeholder:"FILE"`
	Films   int    `placeholder:"N"`
	Split   bool
	Cell    *int  `placeholder:"N"`
	Skill   *int  `placeholder:"N"`
	Verbose bool  `short:"v"`
	Seed    int64 `default:"0"`

	Archived bool
	backendFlag
}

// Run prints the numbers, and draws figures or writes a page.
func (c *showCmd) Run(ctx context.Context) error {
	watch := c.HTML != "" || c.GIF != "" || c.Cell != nil || c.Skill != nil
	switch {
	case c.HTML != "" && c.GIF != "":
		return names.Wrongf("--html and --gif are mutually exclusive")
	case watch && c.JSON:
		return names.Wrongf("--json writes no page: drop it, or drop --html, --gif, --cell and --skill")
	case c.Split && c.HTML == "":
		return names.Wrongf("--split applies to pages: add --html")
	case !watch && (c.Films != 0 || c.Archived):
		return names.Wrongf("--films and --archived apply to pages and animations: add --html or --gif")
	}
	if err := cmp.Or(checkName("--html", c.HTML, ".html", ".htm"), checkName("--gif", c.GIF, ".gif")); err != nil {
		return err
	}
	run, err := c.find()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(run)
	}
	dir := cmp.Or(c.Figures, filepath.Join(run.Dir, "figures"))
	if watch {
		return c.watch(ctx, run, dir)
	}
	printRun(run, c.Verbose)
	var origins session.Origins
	fmt.Fprintf(stdout, "programs       %s\n", programs(&origins, run))
	if run.Robot() != "" {
		if env, err := policies.Environment(run); err == nil {
			if robot, ok := envs.Robot(env); ok {
				fmt.Fprintf(stdout, "task           %s\n", robot)
			}
		}
	}
	paths, err := draw(ctx, run, dir, c.Format, qdnb.PlaySpec{Seed: c.Seed, Backend: c.Backend})
	for _, path := range paths {
		fmt.Fprintf(stdout, "figure         %s\n", path)
	}
	return err
}

// programs says by which programs a run was computed: today's, or those of commits.
func programs(origins *session.Origins, run *runs.Run) string {
	var commits []string
	for _, use := range run.Status.Machines {
		commits = lists.With(commits, paper.ShortHash(use.Commit))
	}
	origin := origins.Of(run)
	if origin.Today() || len(commits) == 0 {
		return string(origin)
	}
	return fmt.Sprintf("%s (commit %s)", origin, strings.Join(commits, ", "))
}

// watch records the selected episodes and writes the page.
func (c *showCmd) watch(ctx context.Context, run *runs.Run, dir string) error {
	switch {
	case run.Config.Algorithm == records.Adaptation:
		return names.Wrongf("%s has no skills of its own: name the run whose skills it used", run.Name())
	case c.Cell != nil && c.Skill != nil:
		return names.Wrongf("--cell and --skill are mutually exclusive")
	case c.Films != 0 && (c.Cell != nil || c.Skill != nil || run.HasSkills()):
		return names.Wrongf("--films limits the cells of a repertoire that are shown: drop it")
	case c.Films < 0:
		return names.Wrongf("--films %d: want a positive number", c.Films)
	}
	spec := qdnb.PlaySpec{Skills: given(c.Skill), Cells: given(c.Cell), Seed: c.Seed, Archived: c.Archived, Backend: c.Backend}
	path, alone := c.HTML, true
	switch {
	case c.Cell != nil:
		path = cmp.Or(path, filepath.Join(dir, fmt.Sprintf("cell-%d.html", *c.Cell)))
	case c.Skill != nil:
		path = cmp.Or(path, filepath.Join(dir, fmt.Sprintf("skill-%d.html", *c.Skill)))
	case run.HasSkills():
		alone = false
	default:
		cells, err := c.cells(run)
		if err != nil {
			return err
		}
		spec.Cells, alone = cells, false
	}
	if _, err := policies.Environment(run); err != nil && alone && c.HTML == "" && c.GIF == "" {
		if err := printStored(run, spec.Skills, spec.Cells); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "no film        %v\n", err)
		return nil
	}
	bar := progress.NewBar("films", false)
	defer bar.Close()
	spec.Progress = counter(bar, "")
	recording, err := qdnb.Play(ctx, run, spec)
	if err != nil {
		return err
	}
	films, err := recording.Films()
	if err != nil {
		return err
	}
	bar.Done("recorded")
	if c.GIF != "" {
		return saveGIF(c.GIF, films, alone)
	}
	page := viewer.Skill(films[0])
	if !alone {
		if page, err = viewer.OfRun(run, spec.Cells, films); err != nil {
			return err
		}
	}
	write := page.Save
	if c.Split {
		write = page.SaveSplit
	}
	size, err := save(path, write)
	if err != nil {
		return err
	}
	if alone {
		fmt.Fprintf(stdout, "film           %s: %s\n", films[0].Title, films[0].Subtitle)
	} else {
		fmt.Fprintf(stdout, "films          %d of %s\n", len(films), run.Name())
	}
	fmt.Fprintf(stdout, "page           %s (%d kB)\n", path, size/1000)
	return nil
}

// printStored prints what a run's folder holds of policies: their layers, and the evaluations that
// training made of them.
func printStored(run *runs.Run, numbers, cells []int) error {
	set, err := policies.Select(run, numbers, cells)
	if err != nil {
		return err
	}
	network, _, err := set.Stored()
	if err != nil {
		return err
	}
	for _, p := range set.Policies {
		fitness, descriptor, err := storedOf(run, p.Cell, p.Number)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%-14s fitness %.6g, descriptor %.4g, as stored by training; %v\n", p, fitness, descriptor, network)
	}
	return nil
}

// storedOf returns the fitness and the descriptor of a cell or skill as training stored them.
func storedOf(run *runs.Run, cell bool, number int) (fitness float64, descriptor []float64, err error) {
	if cell {
		r, err := run.RepertoireMap()
		if err != nil {
			return 0, nil, err
		}
		return float64(r.Fitnesses[number]), lists.Convert[float64](r.Descriptor(number)), nil
	}
	skills, err := run.Evaluation()
	if err == nil {
		fitness, descriptor = skills.Mean(number)
	}
	return fitness, descriptor, err
}

// counter returns a function that shows on a bar how much of some work is done.
func counter(bar *progress.Bar, unit string) func(done, all int) {
	return func(done, all int) {
		bar.Update(float64(done)/float64(all), fmt.Sprintf("%s%d of %d", unit, done, all))
	}
}

// save writes a file, in a folder that it creates if needed, and returns its size in bytes.
func save(path string, write func(path string) error) (int64, error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return 0, err
	}
	if err := write(path); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// pageLimit is the size in bytes up to which a page has films of all cells unless --films says
// otherwise. Browsers open larger pages, too, but they are slow to send.
const pageLimit = 20_000_000

// cells returns the cells to film, and says how large their page may become.
func (c *showCmd) cells(run *runs.Run) ([]int, error) {
	r, err := run.Repertoire() // fails if the policies are not shipped
	if err != nil {
		return nil, err
	}
	most := viewer.FilmsWithin(run, pageLimit)
	switch {
	case c.GIF != "":
		most = animatedCells
	case c.Split:
		most = len(r.Filled())
	}
	cells := viewer.Choose(r, cmp.Or(c.Films, most))
	if len(cells) == 0 {
		return nil, fmt.Errorf("the repertoire of %s is empty", run.Name())
	}
	if c.GIF != "" || c.Split {
		return cells, nil
	}
	filled := len(r.Filled())
	fmt.Fprintf(os.Stderr, "filming %d of %d cells: the page takes at most %.1f MB\n", len(cells),
		filled, float64(viewer.PageSize(run, len(cells)))/1e6)
	if len(cells) < filled && c.Films == 0 {
		fmt.Fprintf(os.Stderr, "films of all cells may take %.1f MB: use --films %d to include them\n",
			float64(viewer.PageSize(run, filled))/1e6, filled)
	}
	return cells, nil
}

// animatedCells is how many cells of a repertoire an animation shows unless --films says otherwise.
const animatedCells = 8

// saveGIF writes films as an animation: a large one of a single film.
func saveGIF(path string, films []*scene.Film, alone bool) error {
	bar := progress.NewBar("animation", false)
	defer bar.Close()
	a := viewer.Animation{Progress: counter(bar, "frame ")}
	if alone {
		a.Width, a.Height = 480, 360
	}
	size, err := save(path, func(path string) error { return viewer.SaveGIF(path, films, a) })
	if err != nil {
		return err
	}
	bar.Done("drawn")
	fmt.Fprintf(stdout, "animation      %s (%d kB)\n", path, size/1000)
	return nil
}

// saver is a figure of one panel or of several.
type saver interface{ Save(path string) error }

type drawing struct {
	name string
	make func() (saver, error)
}

// drawings returns the figures that a run has data for; spec plays the episode of a controller. An
// imported policy with skills has none: it has no repertoire and was not evaluated. An unfinished
// run is drawn from its newest state.
func drawings(ctx context.Context, run *runs.Run, spec qdnb.PlaySpec) (list []drawing, err error) {
	if !run.Status.Finished {
		if table, err := run.Metrics(); !run.HasMetrics() || err == nil && len(table.Rows) == 0 {
			return nil, nil
		}
	}
	add := func(name string, has bool, make func() (saver, error)) {
		if has {
			list = append(list, drawing{name, make})
		}
	}
	if run.Config.Algorithm == records.Adaptation {
		add("adaptation", true, func() (saver, error) { return figures.Adaptation(run) })
		return list, nil
	}
	learning := learningColumns(run)
	add("learning", learning != nil, func() (saver, error) {
		return figures.Columns([]*runs.Run{run}, figures.EnvSteps, learning...)
	})
	add("episode", run.Config.SkillsRun() != "" && run.HasRepertoire(), func() (saver, error) {
		recording, err := qdnb.Play(ctx, run, spec)
		if err != nil {
			return nil, err
		}
		return recording.Trajectories()
	})
	newest, err := run.Newest()
	if err != nil {
		return nil, err
	}
	known := slices.Contains(envs.Names(), run.Config.Env) || run.Robot() != ""
	maps := newest != nil && newest.Dims <= 2 // of a run's cells
	switch {
	case newest == nil:
	case newest.Lower == nil && !known:
		maps = false
		fmt.Fprintf(stdout, "no map         until the run is finished: a checkpoint lacks the limits of %s\n", run.Config.Env)
	default:
		add("repertoire", true, func() (saver, error) { return figures.Repertoire(run) })
		if newest.Dims > 2 {
			fmt.Fprintf(stdout, "not drawn      maps of snapshots and of hypervolumes, which need one or two descriptor "+
				"components: the run has %d\n", newest.Dims)
		}
	}
	fronts := newest != nil && len(newest.Reference) > 1
	add("hypervolumes", fronts && maps, func() (saver, error) { return figures.Hypervolumes(run) })
	add("pareto", fronts, func() (saver, error) { return figures.ParetoFronts(run) })
	axis := figures.Evaluations
	if run.HasSkills() || learning != nil { // the learner counts environment steps
		axis = figures.EnvSteps
	}
	add("metrics", newest != nil || !run.Status.Finished, func() (saver, error) {
		return figures.Metrics([]*runs.Run{run}, axis)
	})
	add("distribution", newest != nil, func() (saver, error) { return figures.Distribution(run) })
	snapshots, err := run.Snapshots()
	if err != nil {
		return nil, err
	}
	add("snapshots", maps && len(snapshots) > 0, func() (saver, error) { return figures.Snapshots(run, 5) })
	corrected, err := run.Corrected()
	if err != nil {
		return nil, err
	}
	add("corrected", len(corrected) > 1, func() (saver, error) {
		return figures.CorrectedMetrics([]*runs.Run{run}, figures.EnvSteps)
	})
	if run.HasSkills() && known {
		skills, err := run.Evaluation()
		if err != nil {
			return nil, err
		}
		add("trajectories", skills.Steps() > 0, func() (saver, error) { return figures.SkillTrajectories(run) })
	}
	return list, nil
}

// learningColumns are the columns of metrics.csv that show how a policy of PPO learns; nil for a run of
// another algorithm.
func learningColumns(run *runs.Run) (list []string) {
	table, err := run.Metrics()
	if err != nil || !slices.Contains(table.Columns, "fitness_mean") || len(table.Rows) == 0 {
		return nil
	}
	for _, name := range table.Columns {
		if name == "max_fitness" || strings.HasSuffix(name, "_mean") || strings.HasSuffix(name, "_loss") || name == "entropy" {
			list = append(list, name)
		}
	}
	return list
}

// draw saves the figures of a run and returns their paths.
func draw(ctx context.Context, run *runs.Run, dir, format string, spec qdnb.PlaySpec) ([]string, error) {
	list, err := drawings(ctx, run, spec)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	var paths []string
	var failed error
	for _, figure := range list {
		f, err := figure.make()
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", figure.name, err))
			continue
		}
		path := filepath.Join(dir, figure.name+"."+format)
		if err := f.Save(path); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, failed
}
