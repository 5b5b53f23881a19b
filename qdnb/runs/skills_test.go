package runs

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

// testSkills returns three skills of a made-up network.
func testSkills(count int, hidden ...int) *Skills {
	s := &Skills{Observations: 4, Actions: 2, Count: count, Hidden: hidden}
	random := rand.New(rand.NewPCG(1, uint64(count)))
	for range Row(s.Sizes()) {
		s.Policy = append(s.Policy, float32(random.NormFloat64())/2)
	}
	return s
}

// evaluated adds an evaluation and the parameters of a discriminator.
func evaluated(s *Skills) *Skills {
	s.Which = []int{0, 2}
	s.Fitnesses = []float32{1.5, -2}
	s.Descriptors = []float32{1, 2, 3, 4, 5, 6}
	s.Trajectories = []float32{1, 2, 3, 4, 5, 6, 7, 8}
	s.Extra = map[string]npz.Array{"discriminator": npz.Of([]float32{1, 2, 3, 4}, 1, 4),
		"count": npz.Scalar(int32(7))}
	return s
}

// forward computes a ReLU network with flat parameters in float64.
func forward(row []float32, sizes []int, input []float64) []float64 {
	at := 0
	for layer := range len(sizes) - 1 {
		in, out := sizes[layer], sizes[layer+1]
		next := make([]float64, out)
		for j := range next {
			next[j] = float64(row[at+j])
			for i, x := range input {
				next[j] += x * float64(row[at+out+i*out+j])
			}
			if layer < len(sizes)-2 {
				next[j] = max(0, next[j])
			}
		}
		at, input = at+out+in*out, next
	}
	return input
}

// A skill as a separate policy equals the network conditioned on it.
func TestSkillsAreGenotypes(t *testing.T) {
	observation := []float64{0.3, -1.2, 0.7, 2}
	for _, c := range []struct {
		count  int
		hidden []int
	}{{5, []int{6, 3}}, {3, []int{7}}, {2, nil}, {1, []int{4}}, {0, []int{5, 5}}, {0, nil}} {
		s := testSkills(c.count, c.hidden...)
		must.Do(s.Check())
		actions := map[float64]bool{}
		for k := range s.Skills() {
			input := append(slices.Clone(observation), make([]float64, c.count)...)
			if c.count > 0 {
				input[4+k] = 1
			}
			want := forward(s.Policy, s.Sizes(), input)
			genotype := s.Genotype(k)
			if len(genotype) != s.Params() {
				t.Fatalf("%d skills, hidden layers %v: %d parameters, not %d", c.count, c.hidden, len(genotype),
					s.Params())
			}
			got := forward(genotype, slices.Concat([]int{4}, c.hidden, []int{2}), observation)
			actions[got[0]] = true
			gaussian := forward(s.Gaussian(k), slices.Concat([]int{4}, c.hidden, []int{4}), observation)
			got = append(got, gaussian...)
			for i, want := range append(want[:2:2], want...) {
				if math.Abs(got[i]-want) > 1e-6 {
					t.Errorf("%d skills, hidden layers %v: skill %d gives %v, not %v", c.count, c.hidden, k, got,
						want)
				}
			}
		}
		if len(actions) != s.Skills() {
			t.Errorf("%d skills, hidden layers %v: the skills do the same", c.count, c.hidden)
		}
	}
}

func TestSkillsRoundTrip(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	for _, want := range []*Skills{evaluated(testSkills(3, 8, 8)), testSkills(0, 5), testSkills(2)} {
		must.Do(w.SaveSkills(want))
		run, err := Open(w.Dir)
		must.Do(err)
		got, err := run.Skills()
		if want.Hidden == nil {
			want.Hidden = []int{}
		}
		if err != nil || !reflect.DeepEqual(got, want) || !run.HasSkills() || run.HasRepertoire() {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if s := evaluated(testSkills(3)); s.Dims() != 3 || s.Steps() != 2 || testSkills(3).Dims() != 0 ||
		testSkills(3).Steps() != 0 {
		t.Errorf("%d dimensions and %d steps", s.Dims(), s.Steps())
	}
	must.Do(os.Remove(filepath.Join(w.Dir, skillsFile)))
	errtest.Want(t, errtest.Of(w.Skills()), "has no skills.npz")
}

func TestWrongSkillsAreNeitherWrittenNorRead(t *testing.T) {
	w := create(t, t.TempDir())
	path := filepath.Join(w.Dir, skillsFile)
	for want, change := range map[string]func(*Skills){
		"the policy has 0 parameters":                              func(s *Skills) { s.Policy = []float32{} },
		"observations must be between":                             func(s *Skills) { s.Observations = 0 },
		"actions must be between 1 and 16384, not ":                func(s *Skills) { s.Actions = 1 << 30 },
		"skills must be between 0":                                 func(s *Skills) { s.Count = -1 },
		"number of hidden layers must be between 0 and 16, not 17": func(s *Skills) { s.Hidden = slices.Repeat([]int{1}, 17) },
		"hidden layers must have between 1 and 16384":              func(s *Skills) { s.Hidden = []int{0} },
		"evaluation 1 is of skill 3":                               func(s *Skills) { s.Which[1] = 3 },
		"evaluation 0 is of skill -1":                              func(s *Skills) { s.Which[0] = -1 },
	} {
		s := evaluated(testSkills(3, 8))
		change(s)
		errtest.Want(t, w.SaveSkills(s), want)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: written", want)
		}
		must.Do(npz.Write(path, s.arrays()))
		errtest.Want(t, errtest.Of(npz.ReadFile(path, readSkills)), want, path)
		must.Do(os.Remove(path))
	}
	for want, change := range map[string]func(*Skills){
		"fitnesses: shape [2]":            func(s *Skills) { s.Fitnesses = s.Fitnesses[:1] },
		"descriptors: shape [2 2]":        func(s *Skills) { s.Descriptors = s.Descriptors[:5] },
		"trajectories: shape [2 1 2]":     func(s *Skills) { s.Trajectories = s.Trajectories[:6] },
		"descriptors: shape [0 0]":        func(s *Skills) { s.Which, s.Fitnesses = nil, nil },
		`"policy" is the name of another`: func(s *Skills) { s.Extra["policy"] = npz.Scalar(1.5) },
		"odd":                             func(s *Skills) { s.Extra["odd"] = npz.Array{Shape: []int{3}, Data: []float32{1}} },
	} {
		s := evaluated(testSkills(3, 8))
		change(s)
		errtest.Want(t, w.SaveSkills(s), want)
	}
}

func TestSkillsOfAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "skills.npz")
	arrays := testSkills(3, 8).arrays()
	wide := make([]float64, len(testSkills(3, 8).Policy))
	// any numeric type is accepted
	arrays[policyKey], arrays[hiddenKey], arrays[countKey] = npz.Of(wide), npz.Of([]uint8{8}), npz.Of([]float32{3})
	must.Do(npz.Write(path, arrays))
	if s, err := npz.ReadFile(path, readSkills); err != nil || s.Count != 3 || s.Which != nil {
		t.Errorf("%+v, %v", s, err)
	}
	for want, changed := range map[string]map[string]npz.Array{
		`no array "hidden"`:              {hiddenKey: {}},
		`no array "skills"`:              {countKey: {}},
		`no array "fitnesses"`:           {fitnessesKey: {}},
		"policy has shape [1 ":           {policyKey: npz.Of(wide, 1, len(wide))},
		"skills has shape [2]":           {countKey: npz.Of([]int64{1, 2})},
		"observations: ":                 {observationsKey: npz.Scalar(1.5)},
		"actions must be ":               {actionsKey: npz.Scalar(int64(1) << 40)},
		"descriptors has shape [3 2]":    {descriptorsKey: npz.Of(make([]float32, 6), 3, 2)},
		"trajectories has shape [2 1 4]": {trajectoriesKey: npz.Of(make([]float32, 8), 2, 1, 4)},
		"trajectories has shape [4 2], ": {trajectoriesKey: npz.Of(make([]float32, 8), 4, 2)},
	} {
		writeChanged(path, evaluated(testSkills(3, 8)).arrays(), changed)
		errtest.Want(t, errtest.Of(npz.ReadFile(path, readSkills)), want, path)
	}
	whole := must.Get(os.ReadFile(path))
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		must.Do(os.WriteFile(path, whole[:n], 0o666))
		if _, err := npz.ReadFile(path, readSkills); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// A failed import leaves no folder, a killed one is completed, and a finished run is never changed.
func TestImport(t *testing.T) {
	parent := t.TempDir()
	root := filepath.Join(parent, "a", "runs")
	config, err := NewConfig("dads", "nothing", 0, map[string]string{"imported": "1234"})
	must.Do(err)
	save := func(w *Writer) error {
		return errors.Join(w.Begin(-1, "generation"), w.SaveSkills(testSkills(3)),
			w.SaveStatus(Status{Finished: true}))
	}

	broken := errors.New("broken")
	for _, fail := range []func(*Writer) error{
		func(*Writer) error { return broken },
		func(w *Writer) error { return errors.Join(save(w), broken) },
	} {
		if _, err := Import(root, config, fail); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		if left, _ := os.ReadDir(root); len(left) > 0 {
			t.Errorf("a failed import left %v", left)
		}
	}

	run, err := Import(root, config, save)
	if err != nil || run.Dir != filepath.Join(root, config.Name()) || !run.Status.Finished || !run.HasSkills() {
		t.Fatalf("%+v, %v", run, err)
	}
	again, err := Import(root, config, func(*Writer) error { return broken })
	if err != nil || !reflect.DeepEqual(again, run) {
		t.Errorf("again: %+v, %v", again, err)
	}
	if left, _ := os.ReadDir(root); len(left) != 1 {
		t.Errorf("beside the run there is %v", left)
	}
	w, err := Create(root, config) // nobody holds the lock
	must.Do(err)
	must.Do(w.SaveStatus(Status{}))
	must.Do(w.Close())
	errtest.Equal(t, "a killed import is finished", must.Get(Import(root, config, save)).Status.Finished, true)
	file := filepath.Join(parent, "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	errtest.Want(t, errtest.Of(Import(filepath.Join(file, "runs"), config, save)), "is not a folder")
	if os.Getuid() != 0 { // root may write anywhere
		must.Do(os.Chmod(parent, 0o555))
		defer os.Chmod(parent, 0o755)
		errtest.Want(t, errtest.Of(Import(filepath.Join(parent, "other"), config, save)), "cannot write")
	}
}

func TestMeansOfSkills(t *testing.T) {
	s := &Skills{Count: 2, Which: []int{1, 0, 1}, Fitnesses: []float32{1, 5, 3},
		Descriptors: []float32{0, 2, 9, 9, 1, 4}}
	if f, d := s.Mean(1); f != 2 || !slices.Equal(d, []float64{0.5, 3}) {
		t.Errorf("skill 1: %v, %v", f, d)
	}
	if f, d := (&Skills{Count: 2}).Mean(0); !math.IsNaN(f) || d != nil {
		t.Errorf("without an evaluation: %v, %v", f, d)
	}
}
