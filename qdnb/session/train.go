package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Training is what [Train] computes: an algorithm in an environment.
type Training struct {
	Options   Options
	Env       envs.Env
	Algorithm algorithms.Algorithm
	Base      string    // the algorithm that a variant is based on; "" if it is no variant
	Skills    *runs.Run // the finished run whose skills Env uses; nil if it uses none

	KeepReplay bool         // keep the replay buffer of a finished run
	Corrected  int          // episodes of each policy in corrected repertoires; 0: none are made
	By         runs.Average // of these episodes

	TensorBoard bool // write the metrics as an event file, too
}

// Columns are the columns of metrics.csv that all algorithms share.
var Columns = []string{"generation", "evaluations", "env_steps", "seconds", "max_fitness",
	"coverage", "qd_score", "invalid"}

// Train trains a run, resumes it if it was interrupted, or loads it if it is complete.
func Train(ctx context.Context, t Training) (*runs.Run, error) {
	found, err := run(ctx, t.Options, &training{Training: t}, t.Skills)
	if err == nil && t.TensorBoard {
		err = found.WriteEvents() // of a run that was complete
	}
	return found, err
}

// TrainSeeds trains runs that differ only in their seeds one after the other, as [Train] trains each
// of them. Time limits are for all runs and divided equally; the other limits are for each. All but
// the first find their programs compiled, and do not repeat what [progress.Bar.Once] says. A run
// that fails does not keep the others from training; the error is that of all that failed.
func TrainSeeds(ctx context.Context, trainings []Training) (found []*runs.Run, err error) {
	said, failures := map[string]bool{}, []failure(nil)
	for _, t := range trainings {
		t.Options.seeds, t.Options.said = len(trainings), said
		run, failed := Train(ctx, t)
		if failed == nil {
			found = append(found, run)
			continue
		}
		seed := fmt.Sprintf("seed %d", t.Options.Config.Seed)
		if i := slices.IndexFunc(failures, func(f failure) bool { return f.err.Error() == failed.Error() }); i >= 0 {
			failures[i].seeds += ", " + seed
		} else {
			failures = append(failures, failure{seed, failed})
		}
		if ctx == nil || ctx.Err() != nil {
			break
		}
	}
	for _, f := range failures {
		f.err = fmt.Errorf("%s: %w", f.seeds, f.err)
		if err != nil {
			f.err = fmt.Errorf("%w; %w", err, f.err)
		}
		err = f.err
	}
	return found, err
}

// failure is an error of the runs of some seeds.
type failure struct {
	seeds string
	err   error
}

// Steps compiles the algorithm on a platform and runs the first steps, without a run folder.
func (t Training) Steps(platform *xla.Platform, steps int) error {
	search, err := t.dry().search(platform)
	if err != nil {
		return err
	}
	defer search.Close()
	for range steps {
		if _, err := search.Step(); err != nil {
			return err
		}
	}
	return nil
}

func (t Training) search(platform *xla.Platform) (algorithms.Search, error) {
	search, err := t.Algorithm.New(platform, t.Env, t.Options.Config.Seed)
	if err == nil && search == nil {
		err = fmt.Errorf("%T.New returns neither a search nor an error", t.Algorithm)
	}
	return search, err
}

// training is the [job] of [Train].
type training struct {
	Training
	*session
	platform *xla.Platform
	search   algorithms.Search
	reached  int64           // newest generation, -1 before the first step
	stored   *xla.Checkpoint // what the search lists before its first step
	live     *live           // nil: no figure is drawn

	noReplay bool // the replay buffer was not restored, since nothing is left to learn
}

func (t *training) open(s *session, platform *xla.Platform, arrays map[string]npz.Array) error {
	t.session, t.platform, t.live = s, platform, newLive(s.Options)
	s.writer.TensorBoard = t.TensorBoard
	if slow := slowCompilation(t.Env); slow != "" && !s.Quiet {
		s.bar.Notice("%s", slow)
	}
	if simulator, ok := t.Env.(*envs.Simulator); ok && simulator.Evaluate == nil {
		return fmt.Errorf("%s has no function Evaluate: set it, or evaluate genotypes yourself with qdnb.Ask",
			simulator.Facts.Name)
	}
	var err error
	if t.search, err = t.Training.search(platform); err != nil {
		return err
	}
	t.stored = t.search.State()
	if err := t.correctable(); err != nil {
		return err
	}
	if err := t.start(arrays); err != nil {
		return err
	}
	if err := t.saveSource(); err != nil {
		return err
	}
	if t.status.Finished && !t.measured() {
		// the snapshots of the end show the state after conclude
		if err := t.untimed(t.snapshots); err != nil {
			return err
		}
	}
	spec := t.Env.Spec()
	t.status.Descriptor, t.status.Base = spec.Descriptor.Components, t.Base
	t.status.Observations, t.status.Actions = spec.Observations, spec.Actions
	t.status.Choices = policies.Choices(t.Env)
	t.status.CompileSeconds += t.search.CompileTime().Seconds()
	return nil
}

// saveSource stores the source of what the user supplies, if it belongs to the run's identity.
func (t *training) saveSource() error {
	for part := range t.Config.Parts {
		if text := xla.Source(t.Algorithm, t.Env); part != Start && text != "" {
			return t.writer.SaveSource(text)
		}
	}
	return nil
}

// correctable returns an error unless the run's settings describe the policies that Corrected
// evaluates.
func (t *training) correctable() error {
	if t.Corrected == 0 {
		return nil
	}
	got, err := policies.TaskOf(t.writer.Run, t.Env)
	if err != nil {
		return err
	}
	if want := t.search.Task(); !slices.Equal(got.Policy.Sizes, want.Policy.Sizes) || got.Length != want.Length {
		return fmt.Errorf("Corrected needs the layers %d and the episodes of %d steps of %s in its struct, as hidden "+
			"and episode_length in JSON; these are %d and %d", want.Policy.Sizes, want.Length, t.Config.Algorithm,
			got.Policy.Sizes, got.Length)
	}
	return nil
}

// start continues from a checkpoint, of which arrays are the state, if there is one.
func (t *training) start(arrays map[string]npz.Array) error {
	if t.reached = t.from; t.from < 0 {
		return nil
	}
	if err := policies.SameChoices(t.writer.Name(), t.status, t.Env); err != nil {
		return err
	}
	if err := t.search.State().Restore(arrays); err != nil {
		return err
	}
	return t.restoreReplay()
}

// slowCompilation says that a robot with a long chain of bodies takes long to compile: on two cores
// 37 s for 30 bodies, 144 s for 60. It is empty for other environments.
func slowCompilation(env envs.Env) string {
	r, ok := envs.Inner(env).(*envs.Rigid)
	if !ok || r.System.Depth() < 16 {
		return ""
	}
	depth := r.System.Depth()
	return fmt.Sprintf("compiling a chain of %d bodies, which takes about %d s the first time; the time grows with "+
		"the square of the length", depth, depth*depth/25)
}

// concluder is a search that measures its repertoire at intervals only.
type concluder interface {
	// Measured reports whether the newest step measured the state that it left.
	Measured() bool
	// Conclude measures the newest state. The outcome has its Fitnesses and counts, and Extra unless
	// that is the newest step's. The search must not go on.
	Conclude() (scoring.Outcome, error)
}

// measured reports whether the newest step measured the state that it left.
func (t *training) measured() bool {
	s, ok := t.search.(concluder)
	return !ok || s.Measured()
}

// replay returns the search's replay buffer, nil without one, and the number of rows written so far.
func (t *training) replay() (*replay.Store, int64) {
	if s, ok := t.search.(algorithms.Replayer); ok {
		return s.Replay()
	}
	return nil, 0
}

func (t *training) digest() (string, error) { return t.Digest() }

func (t *training) columns() []string {
	own := names.Columns(t.search.Columns(), append([]string{runs.FinalColumn}, Columns...)...)
	return slices.Concat(Columns, own, []string{runs.FinalColumn})
}

func (t *training) close() {
	if t.search != nil {
		t.search.Close()
	}
}

func (t *training) done() bool {
	return t.reached >= 0 && t.Budget.Done(t.status.Progress)
}

func (t *training) state() string { return fmt.Sprintf("generation %d", t.status.Generation) }

func (t *training) step(ctx context.Context) error {
	o, err := t.next(ctx)
	if err != nil {
		return err
	}
	t.reached = o.Generation
	return t.record(o)
}

// next runs a generation, whose genotypes a simulator evaluates on the host.
func (t *training) next(ctx context.Context) (o scoring.Outcome, err error) {
	simulator, ok := t.Env.(*envs.Simulator)
	if !ok {
		return t.search.Step()
	}
	search, ok := t.search.(asker)
	if !ok {
		return o, fmt.Errorf("%T has no methods Ask and Tell, which a simulator on the host needs", t.search)
	}
	genotypes, err := search.Ask()
	if err != nil {
		return o, err
	}
	results, err := simulator.Evaluate(ctx, genotypes)
	if err != nil {
		return o, err
	}
	return search.Tell(results)
}

func (t *training) record(o scoring.Outcome) error {
	before := t.status.Progress
	t.status.Generation, t.status.Evaluations, t.status.EnvSteps = o.Generation, o.Evaluations,
		o.EnvSteps
	t.clock()
	if o.Fitnesses != nil {
		if err := t.log(o, 0); err != nil {
			return err
		}
	}
	t.remark(o)
	if !t.done() { // else finish takes them
		if runs.SnapshotDue(t.Budget, before, t.status.Progress) {
			if err := t.snapshot(); err != nil {
				return err
			}
		}
		if runs.CorrectionDue(t.Budget, before, t.status.Progress) {
			if err := t.untimed(t.correct); err != nil {
				return err
			}
		}
	}
	t.bar.Update(t.fraction(t.status.Progress), t.metrics()...)
	t.drawLive(false)
	return nil
}

func (t *training) conclude() error {
	if t.measured() {
		return nil
	}
	o, err := t.search.(concluder).Conclude()
	if err != nil {
		return err
	}
	if o.Extra == nil { // the generation has a row, which differs only in the repertoire
		row := t.writer.LastRow()
		o.Invalid, o.Extra = int(row[slices.Index(Columns, "invalid")]), row[len(Columns):len(row)-1]
	} else {
		t.remark(o)
	}
	return t.log(o, 1)
}

// log updates the status with the metrics of the measured repertoire and writes a row of
// metrics.csv. final is 1 in the row of conclude.
func (t *training) log(o scoring.Outcome, final float64) error {
	measured := runs.Repertoire{Fitnesses: o.Fitnesses, Offset: t.search.Task().QDOffset()}
	stats := measured.Stats()
	t.status.MaxFitness, t.status.Coverage, t.status.QDScore = stats.MaxFitness, stats.Coverage,
		stats.QDScore
	s := t.status
	t.remarkSize(o, stats.Filled)
	row := []float64{float64(s.Generation), float64(s.Evaluations), float64(s.EnvSteps), s.Seconds,
		s.MaxFitness, s.Coverage, s.QDScore, float64(o.Invalid + o.Dropped)}
	return t.writer.Log(append(append(row, o.Extra...), final)...)
}

// metrics returns the metrics for the progress bar, the most important first.
func (t *training) metrics() []string {
	s := t.status
	if err := s.AllInvalid(); err != nil {
		return []string{err.Error()}
	}
	if math.IsInf(s.MaxFitness, -1) {
		return []string{"nothing evaluated yet"}
	}
	list := []string{fmt.Sprintf("max fitness %.4g", s.MaxFitness),
		fmt.Sprintf("coverage %.1f %%", s.Coverage), fmt.Sprintf("QD score %.4g", s.QDScore)}
	if s.Invalid > 0 {
		list = append(list, fmt.Sprintf("invalid %d", s.Invalid))
	}
	return list
}

func (t *training) summary() string {
	return strings.Join(append([]string{fmt.Sprintf("generation %d", t.status.Generation)},
		t.metrics()...), "  ")
}

// restoreReplay restores a learner's replay buffer, or refills it if it was deleted.
func (t *training) restoreReplay() error {
	buffer, total := t.replay()
	if buffer == nil {
		return nil
	}
	if t.noReplay = t.Budget.Done(t.status.Progress); t.noReplay { // nothing is left to learn
		return nil
	}
	capacity, width := buffer.Shape()
	err := buffer.Set(total, func(put func(from int64, rows []float32) error) error {
		return t.writer.LoadReplay(total, capacity, width, put)
	})
	switch {
	case errors.Is(err, runs.ErrNoReplay):
	case errors.Is(err, runs.ErrIncompleteReplay) && t.status.Finished:
		// A process was killed while it deleted the buffer, or while it saved that of an extension.
		if err := t.writer.DropReplay(); err != nil {
			return err
		}
	default:
		return err
	}
	t.bar.Update(t.Budget.Fraction(t.status.Progress), "refilling the replay buffer")
	episodes, err := t.search.(algorithms.Replayer).Refill()
	if err == nil {
		t.bar.Notice("the replay buffer of %s was deleted when the run finished; it is refilled with %d "+
			"episodes of its policies, so the resumed run is not bit-identical", t.writer.Name(), episodes)
	}
	return err
}

func (t *training) checkpoint() (arrays map[string]npz.Array, ok bool, err error) {
	if t.reached < 0 {
		return nil, false, nil
	}
	state := t.search.State()
	if arrays, err = state.Arrays(); err == nil {
		err = t.stored.Unknown(arrays)
	}
	if err != nil {
		return nil, false, err
	}
	if name := state.NaN(arrays); name != "" {
		t.failed = t.explained(scoring.NaN(name, t.reached))
		return nil, false, t.failed
	}
	if buffer, total := t.replay(); buffer != nil && !t.noReplay {
		capacity, width := buffer.Shape()
		rows := func(from, to int64) ([]float32, error) { return buffer.Rows(total, from, to) }
		if err := t.writer.SaveReplay(total, capacity, width, rows); err != nil {
			return nil, false, err
		}
	}
	return arrays, true, nil
}

// snapshots saves the snapshots of the end of the budget.
func (t *training) snapshots() error {
	if err := t.snapshot(); err != nil {
		return err
	}
	return t.correct()
}

func (t *training) snapshot() error {
	repertoire, err := t.repertoire(false)
	if err != nil {
		return err
	}
	return t.writer.SaveSnapshot(runs.Snapshot{Progress: t.status.Progress, Repertoire: *repertoire})
}

// correct evaluates the policies of the repertoire again, and saves the result. An interruption
// takes effect after it: a resumed run passes its point of the budget only once.
func (t *training) correct() error {
	if t.Corrected == 0 {
		return nil
	}
	t.bar.Update(t.fraction(t.status.Progress), "evaluating the repertoire again")
	archived, err := t.repertoire(true)
	if err != nil {
		return err
	}
	corrected, err := policies.Correct(context.Background(), t.platform, t.writer.Run, archived, t.Env,
		t.Corrected, t.By, t.Config.Seed)
	if err != nil {
		return err
	}
	return t.writer.SaveSnapshot(corrected.Snapshot(t.status.Progress, t.Corrected))
}

func (t *training) finish() (string, error) {
	if err := t.untimed(t.snapshots); err != nil {
		return "", err
	}
	repertoire, err := t.repertoire(true)
	if err != nil {
		return "", err
	}
	if err := t.writer.StageRepertoire(repertoire); err != nil {
		return "", err
	}
	if s, ok := t.search.(skilled); ok {
		skills, err := skillsOf(s)
		if err != nil {
			return "", err
		}
		if err := t.writer.SaveSkills(skills); err != nil {
			return "", err
		}
	}
	t.drawLive(true)
	return t.summary(), nil
}

func (t *training) clean() error {
	if t.KeepReplay {
		return nil
	}
	return t.writer.DropReplay()
}

func (t *training) repertoire(genotypes bool) (*runs.Repertoire, error) {
	arrays, err := t.search.Repertoire(genotypes)
	if err != nil {
		return nil, err
	}
	floats := func(name string) (x []float32) {
		if a, ok := arrays[name]; ok && err == nil {
			x, err = a.Float32s()
		}
		return x
	}
	limits := t.Env.Spec().Descriptor
	r := &runs.Repertoire{
		Dims: len(limits.Lower), Lower: limits.Lower, Upper: limits.Upper, Offset: t.search.Task().QDOffset(),
		Genotypes: floats("genotypes"), Fitnesses: floats("fitnesses"), Descriptors: floats("descriptors"),
		Centroids: floats("centroids"),
	}
	if genotypes {
		r.Params = t.search.Task().Policy.Params()
	}
	if array, ok := arrays["origins"]; ok && err == nil {
		r.Origins, err = array.Int32s()
	}
	if err != nil {
		return nil, err
	}
	if r.Objectives = arrays["objectives"]; r.Objectives.Data != nil {
		for _, x := range t.Env.Spec().ReferencePoint(t.search.Task().Length) {
			r.Reference = append(r.Reference, float32(x))
		}
	}
	r.KeepFittest(len(r.Centroids) / r.Dims)
	return r, nil
}

// skilled is a search that trains one policy of several skills.
type skilled interface {
	algorithms.Search
	Skills() int // 0 if the policy is not conditioned on a skill
	// Evaluate returns the policy and the results of its skills: of episodes i of skill i mod skills, and
	// perhaps a record of the positions at each step.
	Evaluate() (policy []float32, found scoring.Results, err error)
	// Diversity returns the state of the diversity reward by the names of its pytree.
	Diversity() (map[string]npz.Array, error)
}

// skillsOf returns the current policy of a search and an evaluation of its skills.
func skillsOf(s skilled) (*runs.Skills, error) {
	policy, found, err := s.Evaluate()
	if err != nil {
		return nil, err
	}
	spec, task := s.Task().Env.Spec(), s.Task()
	out := &runs.Skills{
		Observations: spec.Observations, Actions: spec.Actions, Count: s.Skills(),
		Hidden:    task.Policy.Sizes[1 : len(task.Policy.Sizes)-1],
		Fitnesses: found.Fitnesses, Descriptors: found.Descriptors, Policy: policy,
	}
	if len(found.Records) > 0 {
		out.Trajectories = found.Records[0]
	}
	if out.Extra, err = s.Diversity(); err != nil {
		return nil, err
	}
	for i := range found.Fitnesses {
		out.Which = append(out.Which, i%max(1, s.Skills()))
	}
	return out, nil
}
