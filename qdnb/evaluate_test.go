package qdnb

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
	"example.com/qdnb/xla/random"
)

// drift is a point that moves by its action. Its descriptor is its initial position, so that plain
// Go can compute the same trajectory.
type drift struct{ name string }

func (d drift) Spec() envs.Spec {
	return envs.Spec{Name: d.name, Observations: 2, Actions: 2, Length: 100,
		Descriptor: envs.Descriptor{
			Kind: envs.Final, Lower: []float32{-1, -1}, Upper: []float32{1, 1},
			Components: []string{"start x", "start y"}}}
}

func (drift) state(xy, start, reward *Node) envs.State {
	return envs.State{PhysicsState: []*Node{Transpose(start, 0, 1)}, Observation: xy, Reward: reward,
		Done: ZerosLike(reward), Descriptor: start}
}

func (d drift) Reset(keys random.Key) envs.State {
	xy := keys.Uniform(-1, 1, keys.Hi.Shape().Dimensions[0], 2)
	return d.state(xy, xy, MulScalar(ReduceSum(xy, 1), 0))
}

// Step moves the point. The reward is the dot product of the action and the new position.
func (d drift) Step(s envs.State, action *Node) envs.State {
	xy := Add(s.Observation, DivScalar(action, 10))
	return d.state(xy, s.Descriptor, ReduceSum(Mul(action, xy), 1))
}

// driftFitness computes the fitness of a skill from an initial position. The network is conditioned
// on the skill, and the action is the tanh of its first two outputs.
func driftFitness(s *runs.Skills, skill int, start []float32, steps int) float64 {
	x, y, fitness := float64(start[0]), float64(start[1]), 0.0
	for range steps {
		input := append([]float64{x, y}, make([]float64, s.Count)...)
		if s.Count > 0 {
			input[2+skill] = 1
		}
		row, sizes := s.Policy, s.Sizes()
		for layer := range len(sizes) - 1 {
			out := make([]float64, sizes[layer+1])
			for j := range out {
				out[j] = float64(row[j])
				for i, in := range input {
					out[j] += in * float64(row[len(out)+i*len(out)+j])
				}
				if layer < len(sizes)-2 {
					out[j] = max(0, out[j])
				}
			}
			row = row[len(out)+len(input)*len(out):]
			input = out
		}
		east, north := math.Tanh(input[0]), math.Tanh(input[1])
		x, y = x+east/10, y+north/10
		fitness += east*x + north*y
	}
	return fitness
}

// madeUp returns a run on drift with a made-up policy and episodes of 12 steps.
func madeUp(t *testing.T, count int) (*runs.Run, *runs.Skills) {
	t.Helper()
	return madeUpOn(t, "drift", count)
}

// madeUpOn is [madeUp] in an environment with two observations and actions.
func madeUpOn(t *testing.T, env string, count int) (*runs.Run, *runs.Skills) {
	t.Helper()
	s := &runs.Skills{Observations: 2, Actions: 2, Count: count, Hidden: []int{6, 5}}
	random := rand.New(rand.NewPCG(7, uint64(count)))
	for range runs.Row(s.Sizes()) {
		s.Policy = append(s.Policy, float32(random.NormFloat64()))
	}
	config := nb.Must(runs.NewConfig("dads", env, 0, map[string]any{"hidden": []int{1}, "episode_length": 12}))
	run := must.Get(runs.Import(t.TempDir(), config, func(w *runs.Writer) error {
		if err := w.SaveSkills(s); err != nil {
			return err
		}
		return w.SaveStatus(runs.Status{Finished: true})
	}))
	return run, s
}

// Evaluated skills act as the network conditioned on the skill. Every episode has another initial
// state, which all skills share, and the results of a skill do not depend on the others.
func TestEvaluateDoesWhatTheNetworkDoes(t *testing.T) {
	for _, c := range []struct {
		backend         string
		count, episodes int
	}{{device(), 3, 7}, {device(), 0, 7}, {"go", 3, 7}, {"go", 0, 7},
		{device(), 2, 2051}} { // a call of the program computes 2048
		run, skills := madeUp(t, c.count)
		spec := PlaySpec{Environment: drift{"drift"}, Episodes: c.episodes, Seed: 5, Backend: c.backend}
		found := nb.Must(Play(background, run, spec))
		if found.Env != "drift" || found.Episodes != c.episodes || found.Steps != 12 || found.Backend == "" ||
			len(found.Results) != max(1, c.count) {
			t.Fatalf("%+v", found)
		}
		for k, r := range found.Results {
			if r.Cell || r.Number != k || len(r.Fitnesses) != c.episodes || !slices.Equal(r.Descriptors,
				found.Results[0].Descriptors) {
				t.Fatalf("skill %d: %+v", k, r)
			}
			starts, sum, square := map[string]bool{}, 0.0, 0.0
			for i, fitness := range r.Fitnesses {
				start := r.Descriptors[2*i : 2*i+2]
				starts[fmt.Sprint(start)] = true
				want := driftFitness(skills, k, start, 12)
				if math.Abs(float64(fitness)-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("%+v: skill %d from %v has fitness %g, want %g", c, k, start, fitness, want)
				}
				sum, square = sum+want, square+want*want
			}
			errtest.Equal(t, "starts", len(starts), c.episodes)
			n := float64(c.episodes)
			std := math.Sqrt(square/n - sum/n*sum/n)
			if math.Abs(r.Mean()-sum/n) > 1e-5 || math.Abs(r.Std()-std) > 1e-4 ||
				r.Median() != float64(slices.Sorted(slices.Values(r.Fitnesses))[c.episodes/2]) {
				t.Errorf("mean %g, std %g, median %g of %v", r.Mean(), r.Std(), r.Median(), r.Fitnesses)
			}
		}
		last := len(found.Results) - 1
		spec.Skills = []int{last}
		alone := nb.Must(Play(background, run, spec)).Results
		errtest.Equal(t, "a skill alone", fmt.Sprint(len(alone), alone[0].Fitnesses),
			fmt.Sprint(1, found.Results[last].Fitnesses))
	}
}

// Lengths are those until an episode ends, of any number of episodes.
func TestEvaluateCountsSteps(t *testing.T) {
	run, _ := madeUp(t, 2)
	brief := altered{drift{"drift"}, nil, func(s envs.State) envs.State {
		s.Reward = OnesLike(s.Reward)
		return beyond(0.7, s)
	}}
	spec := PlaySpec{Environment: brief, Episodes: 600, Backend: "go"}
	errtest.Equal(t, "lengths", len(nb.Must(Play(background, run, spec)).Results[1].Lengths), 0)
	spec.Lengths = true
	for _, r := range nb.Must(Play(background, run, spec)).Results {
		found := map[int]bool{}
		for i, length := range r.Lengths {
			if found[length] = true; float32(length) != r.Fitnesses[i] {
				t.Fatalf("episode %d of %s has %d steps, not %g", i, r.Policy, length, r.Fitnesses[i])
			}
		}
		if len(r.Lengths) != 600 || !found[1] || !found[12] || len(found) < 4 {
			t.Errorf("%d episodes of %s have %v steps", len(r.Lengths), r.Policy, found)
		}
	}
}

// The mean fitness of a cell is close to its fitness in the repertoire. Initial states differ.
func TestEvaluateCells(t *testing.T) {
	run := train(t, small(t.TempDir(), 4))
	repertoire := nb.Must(run.Repertoire())
	best := repertoire.Best()
	found := nb.Must(Play(background, run, PlaySpec{Episodes: 20}))
	r := found.Results[0]
	if len(found.Results) != 1 || !r.Cell || r.Number != best || found.Steps != 20 ||
		found.Env != "pointmaze" || !slices.Equal(r.Genotype, repertoire.Genotype(best)) {
		t.Fatalf("%+v", found)
	}
	if distance := math.Abs(r.Mean() - float64(repertoire.Fitnesses[best])); distance > 5 ||
		r.Std() == 0 || len(r.Descriptor()) != 2 {
		t.Errorf("fitness %g, std %g; it was found with %g", r.Mean(), r.Std(), repertoire.Fitnesses[best])
	}
	two := nb.Must(Play(background, run, PlaySpec{Episodes: 2, Cells: repertoire.Filled()[:2]}))
	errtest.Equal(t, "two cells", fmt.Sprint(len(two.Results), two.Results[1].Number), fmt.Sprint(2, repertoire.Filled()[1]))

	empty := slices.IndexFunc(repertoire.Fitnesses, func(f float32) bool { return math.IsInf(float64(f), -1) })
	skilled, _ := madeUp(t, 2)
	ant, other := nb.Must(envs.Make("ant-uni")), drift{"drift"}
	for want, c := range map[string]struct {
		run  *runs.Run
		spec PlaySpec
	}{
		"episodes must be between 1 and 1048576, not -1":                {run, PlaySpec{Episodes: -1}},
		"there is no cell 32":                                           {run, PlaySpec{Cells: []int{32}}},
		"there is no cell -1":                                           {run, PlaySpec{Cells: []int{-1}}},
		fmt.Sprintf("cell %d is empty; the nearest filled cell", empty): {run, PlaySpec{Cells: []int{empty}}},
		"no skills: give a cell":                                        {run, PlaySpec{Skills: []int{0}}},
		"ant-uni has 87 observations and 8 actions":                     {run, PlaySpec{Environment: ant}},
		"has neither gravity": {run,
			PlaySpec{Conditions: envs.Conditions{envs.GravityMultiplier: {2}}}},
		"there is no skill 2":                      {skilled, PlaySpec{Skills: []int{2}, Environment: other}},
		"no repertoire: give a skill":              {skilled, PlaySpec{Cells: []int{2}, Environment: other}},
		"are mutually exclusive":                   {skilled, PlaySpec{Cells: []int{0}, Skills: []int{0}, Environment: other}},
		"drift is not a built-in environment":      {skilled, PlaySpec{}},
		"policies for ant-uni have 611 parameters": {skilled, PlaySpec{Environment: ant}},
	} {
		errtest.Want(t, errtest.Of(Play(background, c.run, c.spec)), want)
	}
	errtest.Want(t, errtest.Of(films(run, PlaySpec{Environment: plane{"plane"}})), "has no visible bodies")
}

// Training stores corrected repertoires, which hold averages over episodes, without changing the run. They equal those of
// the finished run's policies, whether or not it was interrupted.
func TestCorrectedDuringTraining(t *testing.T) {
	for _, spec := range []Spec{small("", 6), smallDiscovery("diayn-reward", "", 6)} {
		spec.Runs = t.TempDir()
		plain := train(t, spec)
		late := spec // asks for it when the run is complete
		late.Corrected = 3
		errtest.Want(t, errtest.Of(Train(background, late)), "--corrected --by mean --episodes 3 --save")
		spec.Runs, spec.Corrected = t.TempDir(), 3
		run := train(t, spec)
		train(t, spec) // has them
		if !bytes.Equal(repertoireBytes(t, run), repertoireBytes(t, plain)) {
			t.Errorf("%s: corrections changed the run", spec.Algorithm)
		}
		corrected := nb.Must(run.Corrected())
		if len(corrected) != 6 {
			t.Fatalf("%s: %d corrected repertoires, want one for each generation", spec.Algorithm, len(corrected))
		}
		spec.Runs = t.TempDir()
		stopped(t, spec)
		stopped(t, spec)
		if resumed := nb.Must(train(t, spec).Corrected()); !reflect.DeepEqual(fitnessesOf(resumed), fitnessesOf(corrected)) {
			t.Errorf("%s: an interrupted run has other corrected repertoires", spec.Algorithm)
		}

		errtest.Equal(t, spec.Algorithm+": corrected repertoires that nobody asked for", len(nb.Must(plain.Corrected())), 0)
		play := PlaySpec{Cells: nb.Must(plain.RepertoireMap()).Filled(), Episodes: 3, Seed: spec.Seed, Backend: "go"}
		recording := nb.Must(Play(background, plain, play))
		c, best := nb.Must(recording.Corrected(plain, runs.ByMean)), math.Inf(-1)
		for _, r := range recording.Results {
			best = max(best, r.Mean())
		}
		before, after := c.Archived.Stats(), c.Repertoire.Stats() // which holds means, of the archived policies
		if n := len(play.Cells); len(c.Fitness) != n || len(c.Descriptor) != n || c.Episodes != 3 || after.Filled == 0 ||
			after.Filled > before.Filled || math.Abs(after.MaxFitness-best) > 1e-4 {
			t.Errorf("%d deviations of %d policies, %+v after %+v; the best mean is %g", len(c.Fitness), n, after, before, best)
		}
		errtest.Equal(t, "panels", len(nb.Must(c.Figure()).Panels[0]), 2)
		fewer := play
		fewer.Cells = play.Cells[1:]
		errtest.Want(t, errtest.Of(nb.Must(Play(background, plain, fewer)).Corrected(plain, runs.ByMean)), "cell")
		nb.Check(c.Save())
		train(t, late)
		last, saved := corrected[5], nb.Must(plain.Corrected())[0]
		last.Seconds, saved.Seconds = 0, 0
		if !reflect.DeepEqual(saved, last) || saved.Episodes != 3 || saved.FitnessStd <= 0 {
			t.Errorf("%s: the finished run's corrected repertoire is %+v, want %+v", spec.Algorithm, saved, last)
		}
		spec.Runs, spec.CorrectedBy = t.TempDir(), runs.ByMedian
		other := train(t, spec)
		medians := nb.Must(other.Corrected())[5]
		again := nb.Must(nb.Must(Play(background, plain, play)).Corrected(plain, runs.ByMedian)).Repertoire
		if medians.Correction.String() != "median of 3 episodes" || last.Correction.String() != "mean of 3 episodes" ||
			!slices.Equal(medians.Fitnesses, again.Fitnesses) || slices.Equal(medians.Fitnesses, last.Fitnesses) {
			t.Errorf("%s: medians are %v", spec.Algorithm, medians)
		}
		for want, of := range map[string][]*runs.Run{"Coverage (%), mean of 3 episodes": {run},
			"Coverage (%), median of 3 episodes": {other}, "Corrected coverage (%)": {run, other}} {
			curves := nb.Must(figures.CorrectedMetrics(of, figures.EnvSteps))
			below := curves.Panels[1][1]
			if n := len(below.Legend); below.Y.Label.Text != want || n != len(of) ||
				n == 2 && !strings.HasSuffix(below.Legend[0].Text+below.Legend[1].Text, "n of 3 episodes") {
				t.Errorf("%s: the axis is %q with %d kinds of lines, want %q", spec.Algorithm, below.Y.Label.Text, n, want)
			}
		}
		spec.Seed++
		seeds := nb.Must(figures.CorrectedMetrics([]*runs.Run{other, train(t, spec)}, figures.EnvSteps))
		errtest.Equal(t, fmt.Sprintf("%s: curves of two seeds", spec.Algorithm), len(seeds.Panels[1][1].Legend), 1)
	}
	spec := small(t.TempDir(), 1)
	for _, n := range []int{-1, 1e9} {
		spec.Corrected = n
		errtest.Want(t, errtest.Of(spec.Config()), "--corrected (Spec.Corrected) must be between 0 and 1048576")
	}
	run := train(t, small(t.TempDir(), 1))
	errtest.Want(t, errtest.Of(figures.CorrectedMetrics([]*runs.Run{run}, figures.EnvSteps)), "--save")
}

// A corrected repertoire of a renamed folder is not stored in another folder.
func TestCorrectedOfRenamedRun(t *testing.T) {
	run := train(t, small(t.TempDir(), 1))
	renamed := filepath.Join(filepath.Dir(run.Dir), "mine")
	nb.Check(os.Rename(run.Dir, renamed))
	run = nb.Must(runs.Open(renamed))
	play := PlaySpec{Cells: nb.Must(run.RepertoireMap()).Filled(), Episodes: 2, Backend: "go"}
	err := watch.CanSave(run) // before the episodes
	errtest.Want(t, err, "rename")
	err = nb.Must(nb.Must(Play(background, run, play)).Corrected(run, runs.ByMean)).Save()
	errtest.Want(t, err, "rename")
	errtest.Equal(t, "folders", len(nb.Must(os.ReadDir(filepath.Dir(renamed)))), 1)
}

func fitnessesOf(snapshots []runs.Snapshot) (all [][]float32) {
	for _, s := range snapshots {
		all = append(all, s.Fitnesses)
	}
	return all
}

// A film shows the evaluated episode: its rewards sum to the fitness, and the followed body ends at the descriptor.
func TestFilmOfARun(t *testing.T) {
	run := train(t, small(t.TempDir(), 5))
	cells := nb.Must(run.Repertoire()).Filled()[:2]
	shown, err := films(run, PlaySpec{Seed: 3, Cells: cells})
	if err != nil || len(shown) != 2 {
		t.Fatalf("%d films, %v", len(shown), err)
	}
	evaluated := nb.Must(Play(background, run, PlaySpec{Cells: cells, Seed: 3, Episodes: 1}))
	for i, film := range shown {
		errtest.Equal(t, "frames of an episode of 20 steps", len(film.Frames), 21)
		sumsTo(t, film, evaluated.Results[i].Fitnesses[0])
		// The descriptor is that of the state before the last step.
		before := film.Frames[19][film.Follow].Position
		for k, want := range evaluated.Results[i].Descriptors {
			if math.Abs(before[k]-float64(want)) > 1e-6 {
				t.Errorf("the film ends at %v, the descriptor is %v", before, evaluated.Results[i].Descriptors)
			}
		}
		if want := "MAP-Elites on pointmaze, " + evaluated.Results[i].String(); film.Title != want ||
			!strings.HasPrefix(film.Subtitle, "fitness −") {
			t.Errorf("%q, %q", film.Title, film.Subtitle)
		}
	}
	errtest.Equal(t, "first pose of two films", shown[0].Frames[0][0], shown[1].Frames[0][0])
	alone := nb.Must(films(run, PlaySpec{Seed: 3, Cells: cells[1:]}))[0]
	if !slices.EqualFunc(alone.Frames, shown[1].Frames, func(a, b []scene.Pose) bool { return slices.Equal(a, b) }) {
		t.Error("a film depends on the others")
	}
	other := nb.Must(films(run, PlaySpec{Seed: 4, Cells: cells[1:]}))[0]
	if other.Frames[0][0] == alone.Frames[0][0] {
		t.Error("another seed begins at the same position")
	}
}

// sumsTo checks that the rewards of a film sum to the fitness of its episode.
func sumsTo(t *testing.T, film *scene.Film, fitness float32) {
	t.Helper()
	sum := 0.0
	for _, r := range film.Rewards {
		sum += r
	}
	if math.Abs(sum-float64(fitness)) > 1e-5*(10+math.Abs(sum)) {
		t.Errorf("rewards sum to %g, the fitness is %g", sum, fitness)
	}
}

// From the archived initial state, a film shows the very episode whose results are in the repertoire.
func TestFilmFromTheArchivedState(t *testing.T) {
	for _, algorithm := range []string{"map-elites", "pga-map-elites", "aurora", "map-elites starts=7", "mome starts=7"} {
		algorithm, starts, _ := strings.Cut(algorithm, " ")
		spec := smallOf(algorithm, t.TempDir(), 3)
		if starts != "" {
			spec.Tune = more(spec.Tune, starts)
		}
		run := train(t, spec)
		r := nb.Must(run.Repertoire())
		cells := r.Filled()[:3]
		for _, archived := range []bool{true, false} {
			spec := PlaySpec{Cells: cells, Seed: 3, Episodes: 1, Record: true, Archived: archived}
			found := nb.Must(Play(background, run, spec))
			drawing := filepath.Join(t.TempDir(), "trajectories.svg")
			nb.Check(nb.Must(found.Trajectories()).Save(drawing))
			errtest.Contains(t, string(nb.Must(os.ReadFile(drawing))), ">Goal<")
			for i, film := range nb.Must(films(run, spec)) {
				same := math.Abs(film.Outcome.Fitness-float64(r.Fitnesses[cells[i]])) < 1e-4
				for d, x := range r.Descriptor(cells[i]) {
					same = same && math.Abs(film.Outcome.Descriptor[d]-float64(x)) < 1e-5
				}
				if same != archived || film.Outcome.Archived != archived || found.Results[i].Number != cells[i] ||
					float64(found.Results[i].Fitnesses[0]) != film.Outcome.Fitness {
					t.Errorf("%s, archived %v: %+v and %+v, in the repertoire %g at %g", algorithm, archived,
						film.Outcome, found.Results[i], r.Fitnesses[cells[i]], r.Descriptor(cells[i]))
				}
			}
		}
	}
}

// Imported repertoires do not say where the evaluations of their cells started.
func TestArchivedStatesThatAreUnknown(t *testing.T) {
	run := train(t, small(t.TempDir(), 3))
	r := nb.Must(run.Repertoire())
	fails := func(want string, spec PlaySpec) {
		t.Helper()
		spec.Episodes, spec.Archived = 1, true
		_, err := Play(background, run, spec)
		if _, of := films(run, spec); err == nil || of == nil || !strings.Contains(err.Error(),
			want) || of.Error() != err.Error() {
			t.Errorf("%v, %v; want %q", err, of, want)
		}
	}
	fails("choose at most 16", PlaySpec{Cells: slices.Repeat(r.Filled()[:1], 17)})
	fails("mutually exclusive", PlaySpec{Conditions: envs.Conditions{envs.GravityMultiplier: {1}}})
	r.Origins = nil
	nb.Check(r.Write(filepath.Join(run.Dir, "repertoire.npz")))
	fails("did not store", PlaySpec{})
}

// seen is a custom environment that is [Visible].
type seen struct{ plane }

func (seen) Bodies() []scene.Body {
	rest := scene.Pose{Rotation: scene.Quat{1}}
	return []scene.Body{{Name: "dot", Pose: rest, Shapes: []scene.Shape{{Radius: 0.1}}}}
}

func (seen) Poses(s envs.State) *Node {
	one := OnesLike(Slice(s.Observation, AxisRange(), AxisElem(0)))
	zero := ZerosLike(one)
	return Concatenate([]*Node{s.Observation, zero, one, zero, zero, zero}, 1)
}

func TestFilmOfACustomEnvironment(t *testing.T) {
	env := seen{plane{"seen"}}
	run := train(t, own(t.TempDir(), env))
	film := nb.Must(films(run, PlaySpec{Environment: env, Episodes: 2}))[1]
	if len(film.Frames) != 21 || !strings.HasSuffix(film.Title, "episode 2") {
		t.Errorf("%d frames of %q", len(film.Frames), film.Title)
	}
	for i := range film.Frames[1:] { // the action moves it and costs its square
		from, to := film.Frames[i][0].Position, film.Frames[i+1][0].Position
		x, y := 10*(to[0]-from[0]), 10*(to[1]-from[1])
		if want := -x*x - y*y; math.Abs(film.Rewards[i+1]-want) > 1e-4 {
			t.Fatalf("step %d: reward %g, want %g", i, film.Rewards[i+1], want)
		}
	}
	errtest.Want(t, errtest.Of(films(run, PlaySpec{})), "not a built-in environment")
}

// The bodies of a robot stay connected in every frame. Skills can be filmed as well as cells, and
// under other conditions.
func TestFilmOfARobot(t *testing.T) {
	skills := cheetahs(t, t.TempDir(), "diayn")
	all := nb.Must(films(skills, PlaySpec{Seed: 1}))
	if len(all) != 3 || !strings.HasSuffix(all[2].Title, "skill 2") {
		t.Fatalf("%d films, the last one %q", len(all), all[len(all)-1].Title)
	}
	one := nb.Must(films(skills, PlaySpec{Skills: []int{2}, Seed: 1, Episodes: 1}))[0]
	light := nb.Must(films(skills, PlaySpec{Skills: []int{2}, Seed: 1, Episodes: 1,
		Conditions: envs.Conditions{envs.GravityMultiplier: {0.25}, envs.ActuatorsMultiplier: {0}}}))[0]
	last := len(one.Frames) - 1
	if one.Frames[last][0] != all[2].Frames[last][0] || one.Frames[0][0] != light.Frames[0][0] ||
		one.Frames[last][0] == light.Frames[last][0] {
		t.Error("films of a skill are not reproducible, or do not depend on the conditions")
	}
	if want := "actuator strength multiplier 0, gravity multiplier 0.25"; !strings.HasSuffix(light.Subtitle, want) {
		t.Errorf("%q does not name its conditions", light.Subtitle)
	}
	model := nb.Must(envs.Make(halfcheetahUni)).(*envs.Rigid).System.(*physics.System).Model()
	if joints := slices.DeleteFunc(one.Joints(),
		func(j *scene.Joint) bool { return j == nil }); len(joints) != len(model.Joints) {
		t.Errorf("the film has %d of the %d joints", len(joints), len(model.Joints))
	}
	for i, poses := range one.Frames {
		at := map[string]scene.Pose{}
		for k, body := range one.Bodies {
			at[body.Name] = poses[k]
			if q := poses[k].Rotation; math.Abs(q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3]-1) > 1e-3 {
				t.Errorf("frame %d: rotation %v of %s", i, q, body.Name)
			}
		}
		for _, j := range model.Joints {
			a, b := at[j.Parent].At(scene.Vec(j.ParentOffset)), at[j.Child].At(scene.Vec(j.ChildOffset))
			if d := math.Hypot(a[0]-b[0], a[2]-b[2]); d > 0.12 { // springs hold them
				t.Errorf("frame %d: the two ends of %s are %g m apart", i, j.Name, d)
			}
		}
	}
	if x := one.Frames[0][one.Follow].Position[0]; math.Abs(x) > 0.2 || one.Bodies[one.Follow].Name != "torso" {
		t.Errorf("%s is followed, from x = %g on", one.Bodies[one.Follow].Name, x)
	}
}

// Of the stored evaluation, the steps before the edge are the first episode, whether or not the
// environment resets automatically.
func TestFirstEpisodeOfARun(t *testing.T) {
	const edge = 0.3 // in x, beyond which the point would keep moving
	ledge := func(name string) envs.Env {
		return altered{plane{name}, nil, func(s envs.State) envs.State { return beyond(edge, s) }}
	}
	for name, env := range map[string]envs.Env{"ledge": ledge("ledge"),
		"restarting": envs.AutoReset(ledge("restarting"), 20)} {
		spec := Spec{Algorithm: "diayn-reward", Environment: env, Seed: 1, Budget: Generations(2), Runs: t.TempDir(),
			Backend: "go", Quiet: true, Tune: runs.Assign("env_batch_size=10", "replay_buffer_size=200", "cells=32",
				"cvt_samples=500", "hidden=[8,8]", "episode_length=20", "batch_size=8", "grad_updates_per_step=0.1",
				"evaluation_states=3")}
		run := train(t, spec)
		s := nb.Must(run.Skills())
		arena := figures.Arena{}
		nb.Check(arena.AddSkills(run))
		early := 0
		for i := range s.Which {
			positions := s.Trajectories[2*i*s.Steps() : 2*(i+1)*s.Steps()]
			// The position after the end, or the jump back to the start, crosses the edge at once.
			want := 1
			for want < s.Steps() && math.Abs(float64(positions[2*want])) <= edge && math.Abs(float64(
				positions[2*want]-positions[2*want-2])) < 0.11 {
				want++
			}
			if want < s.Steps() {
				early++
			}
			errtest.Equal(t, fmt.Sprintf("%s: episode %d", name, i), len(arena.Paths[i].X), want)
		}
		if early == 0 {
			t.Errorf("%s: no episode ends early: nothing was tested", name)
		}
		must.Get(watch.SkillTrajectories(env, run))
	}
}

func TestSkillTrajectoriesNameWhatIsMissing(t *testing.T) {
	imported, _ := madeUpOn(t, "pointmaze", 3)
	evolved := train(t, small(t.TempDir(), 1))
	trained := train(t, smallDiscovery("diayn-reward", t.TempDir(), 2))
	without := train(t, smallDiscovery("diayn-reward", t.TempDir(), 2))
	path := filepath.Join(without.Dir, "skills.npz")
	arrays := nb.Must(npz.Read(path))
	delete(arrays, "trajectories")
	nb.Check(npz.Write(path, arrays))
	contacts := *trained
	contacts.Config.Env = "walker-uni"
	own := *trained
	own.Config.Env = "moon"
	for want, run := range map[string]*runs.Run{
		"were not evaluated":                             imported,
		"has no skills.npz":                              evolved,
		"walker-uni has no positions":                    &contacts,
		"moon has no positions to draw; for an environm": &own,
		"kept no positions to draw":                      without,
	} {
		errtest.Want(t, errtest.Of(figures.SkillTrajectories(run)), want)
	}
}
