package qdnb_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// ledgerFiles say what this code computes. Each line is a subject and a hash:
//
//	text KIND ALGORITHM ENVIRONMENT PROGRAM   the program's StableHLO text, at the default settings
//	flags KIND                                the flags of XLA, in place of a hash
//	bytes BACKEND ALGORITHM ENVIRONMENT       all numbers of a small run of nine generations
//
// Lines of bytes have a file of their own, which is a part of the program: see [session.Origins].
//
// KIND is cpu, cuda, or cpu-2 where two workers run another program than one, in one environment. BACKEND is go,
// or cpu with one worker and with two, which must agree. Variants and loops of the tests are called by their
// names. XLA is limited to AVX2, and no line of a text or of pure Go depends on the machine; but of the 31 runs
// on XLA, five have other last bits on an EPYC than on a Xeon.
var ledgerFiles = [2]string{filepath.Join("testdata", "programs.txt"), filepath.Join("session", "bytes.txt")}

// ledgerEnv names an environment variable: "write" makes [TestLedger] write the files, "write-go" all but the numbers
// of XLA, and "check" compare also these, for which it compiles some minutes. "xla" is for its child processes.
const ledgerEnv = "QDNB_LEDGER"

// entry is what the ledger has several lines of.
type entry struct {
	name string // of the algorithm and the environment
	spec qdnb.Spec
}

// ledgerEntries lists what is built: each algorithm on pointmaze and ant-uni, each environment with
// MAP-Elites and DADS+REWARD, or Gymnasium's robots with MAP-Elites only, what uses the skills of a run, parts and loops of
// users, and robots.
func ledgerEntries() (list []entry) {
	add := func(name, algorithm, env string) {
		list = append(list, entry{name + " " + env, qdnb.Spec{Algorithm: algorithm, Env: env}})
	}
	for _, name := range records.Names() {
		if must.Get(registry.Find(name)).NeedsGradients() {
			add(name, name, "sphere")
			continue
		}
		add(name, name, "pointmaze")
		add(name, name, "ant-uni")
	}
	for _, env := range envs.Names() {
		if env == "halfcheetah-hurdles" {
			add(records.HierarchicalControl, records.HierarchicalControl, env)
			continue
		}
		if env == "pointmaze" || env == "ant-uni" || strings.Contains(env, "-v5-") { // which differs only in its descriptor
			continue
		}
		add("map-elites", "map-elites", env)
		if !strings.HasSuffix(env, "-v5") && must.Get(envs.Make(env)).Spec().Observations > 0 {
			add("dads-reward", "dads-reward", env)
		}
	}
	add(records.Adaptation, records.Adaptation, "ant-maze")
	return slices.Concat(list, settingEntries(), ownEntries(), robotEntries())
}

// ownEntries lists small runs with code of their users.
func ownEntries() (list []entry) {
	own := func(name string, spec qdnb.Spec) {
		list = append(list, entry{"own-" + name + " " + cmp.Or(spec.Env, "own"), spec})
	}
	for part, specs := range qdnb.OwnParts() {
		own(part, specs[0])
	}
	for name, loop := range loops {
		own(name, qdnb.Spec{Name: name, Env: "pointmaze", Loop: loop()})
	}
	own("crossover", variant("", "crossover", "map-elites", crossed))
	own("strategies", variant("", "cma-me", "map-elites", onGrid))
	own("mix", variant("", "pga-cma-aurora", "pga-aurora", mixed))
	own("competition", variant("", "local-competition", "map-elites", competing))
	ball := qdnb.Smallest("diayn-reward", "")
	ball.Name = "ball"
	ball.Tune = ball.Tune.And(qdnb.Tune(func(p *skills.Parts) {
		p.Diversity = qdnb.Ball{Weight: 10, LearningRate: 0.01}
	}))
	own("ball", ball)
	return list
}

// robotEntries lists MAP-Elites with robots that MuJoCo's engine moves: Go1 on its feet, and a half-cheetah,
// whose dampers are integrated implicitly.
func robotEntries() (list []entry) {
	for _, r := range []struct{ name, file, body string }{
		{"go1", "robots/go1.json", "trunk"},
		{"half-cheetah", "mujoco/testdata/accepted/gym_half_cheetah_model.json", "torso"},
	} {
		options := mujoco.Options{}
		if r.name == "go1" {
			options.Contacts = [][2]string{{"floor", "FR"}, {"floor", "FL"}, {"floor", "RR"}, {"floor", "RL"}}
		}
		system, _, err := envs.ReadSystem(context.Background(), filepath.Join("..", "envs", r.file), options)
		must.Do(err)
		forward := func(m envs.StepView) *Node { return m.Frame(r.body).Velocity[0] }
		list = append(list, entry{"map-elites " + r.name, qdnb.Spec{Algorithm: "map-elites", Environment: &envs.Rigid{
			System: system, Noise: 0.05,
			Settings: envs.Spec{Name: r.name, Observations: 2 * len(system.JointAxes()), Actions: system.Actions(), Length: 50,
				Offset: 10, Descriptor: envs.Descriptor{Kind: envs.Mean, Lower: []float32{-1}, Upper: []float32{1},
					Components: []string{"speed"}}},
			Observe: func(m envs.StepView) *Node {
				angles, velocities := m.System.JointAngles(m.State)
				return Concatenate([]*Node{angles, velocities}, 0)
			},
			Reward:   func(_, after envs.StepView, _ *Node) *Node { return forward(after) },
			Describe: forward,
		}}})
	}
	return list
}

// texts returns the lines of the programs of a kind. Those for GPUs must be welcome there.
func texts(t *testing.T, entries []entry, kind backend.Kind, devices int) (lines []string) {
	for _, e := range entries {
		programs, err := e.spec.Programs(kind, devices)
		if err != nil {
			t.Errorf("%s for %s: %v", e.name, kind, err)
		}
		if kind == backend.CUDA && e.spec.Environment == nil && !strings.HasPrefix(e.name, "own-") {
			welcome(t, e.name, kind, programs) // MuJoCo's constraints are solved until all copies have converged
		}
		for _, p := range programs {
			lines = append(lines, fmt.Sprintf("text %s %s %s %s", kind, e.name, p.Name, p.Hash()))
		}
	}
	return lines
}

// numbers returns the line of the numbers that a small run computes: its metrics, but for times, and the
// contents of all arrays of its checkpoint and its results, whatever their names and files.
func numbers(t *testing.T, e entry, backend string) string {
	spec := e.spec
	spec.Runs, spec.Backend, spec.Quiet, spec.KeepReplay = t.TempDir(), backend, true, true
	spec.Budget = qdnb.Generations(9)
	run, err := qdnb.Train(t.Context(), spec)
	if err == nil && strings.HasPrefix(e.name, records.Adaptation) {
		run, err = qdnb.Adapt(t.Context(), qdnb.AdaptSpec{Skills: run, Perturbation: envs.GravityMultiplier,
			Values: [][]float64{{0.5}, {2}}, Episodes: 2, Runs: spec.Runs, Backend: backend, Quiet: true})
	}
	if err != nil {
		t.Errorf("%s on %s: %v", e.name, backend, err)
		return "bytes " + e.name
	}
	found := map[string]bool{}
	keep := func(text []byte) {
		sum := sha256.Sum256(text)
		found[hex.EncodeToString(sum[:])] = true
	}
	table := must.Get(run.Metrics())
	for i, row := range table.Rows {
		if seconds := slices.Index(table.Columns, "seconds"); seconds >= 0 {
			row[seconds] = 0
		}
		keep(fmt.Append(nil, i, table.Columns, row))
	}
	for _, pattern := range []string{"*.npz", "checkpoints/*.npz", "replay/*.npz"} {
		for _, path := range must.Get(filepath.Glob(filepath.Join(run.Dir, pattern))) {
			for name, array := range must.Get(npz.Read(path)) {
				if name != "meta" { // has times
					keep(fmt.Append(nil, array.Shape, array.Data))
				}
			}
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(found)), " ")))
	return fmt.Sprintf("bytes %s %s %s", backend, e.name, hex.EncodeToString(sum[:8]))
}

// smallEntries are small runs of all algorithms, and those of settingEntries.
func smallEntries() (list []entry) {
	for _, name := range records.Names() {
		spec := qdnb.Smallest(name, "")
		list = append(list, entry{name + " " + spec.Env, spec})
	}
	return append(list, settingEntries()...)
}

// environmentEntries are small runs in the other environments of the paper, and adaptation in one. Only pure Go
// computes their numbers: those of XLA have other last bits on processors of another maker.
func environmentEntries() (list []entry) {
	for _, env := range protocol.Environments() {
		if env == "pointmaze" { // which is that of the algorithms' small runs
			continue
		}
		spec := qdnb.Smallest("map-elites", "")
		spec.Env, spec.Tune = env, spec.Tune.And(runs.Assign("episode_length=25"))
		list = append(list, entry{"map-elites " + env, spec})
		if env == "halfcheetah-uni" {
			list = append(list, entry{records.Adaptation + " " + env, spec}) // of its policies to gravity
		}
	}
	return list
}

// settingEntries are small runs at settings that select other code of an algorithm.
func settingEntries() (list []entry) {
	for _, s := range []struct{ algorithm, setting string }{{"cma-mae", "strategy=cma-es"},
		{"cma-mae", "strategy=lm-ma-es"}, {"cma-mae", "strategy=openai-es"}, {"aurora-xcon", "loss=mse"},
		{"ppo", "normalize_observations=true"}} {
		spec := qdnb.Smallest(s.algorithm, "")
		spec.Tune = spec.Tune.And(runs.Assign(s.setting))
		list = append(list, entry{s.algorithm + "," + s.setting + " " + spec.Env, spec})
	}
	spec := qdnb.Smallest("pga-map-elites", "")
	spec.Env, spec.Environment = "", must.Get(envs.WithVariations(qdnb.Lever(), "windy",
		envs.Vary(envs.GravityMultiplier, 0.5, 2), envs.Vary(envs.ActuatorsMultiplier, 1, 1)))
	return append(list, entry{"pga-map-elites,conditions lever", spec})
}

// ledger returns the lines of this code without those of numbers that XLA computes.
func ledger(t *testing.T) []string {
	entries := ledgerEntries()
	var lists [4][]string
	var all sync.WaitGroup
	all.Go(func() {
		lists[0] = texts(t, entries, backend.CPU, 1)
		// Two workers divide the programs of an algorithm in the same way in all environments.
		elsewhere := func(e entry) bool {
			algorithm, env, _ := strings.Cut(e.name, " ")
			return env == "ant-uni" || env != "pointmaze" && slices.Contains([]string{"map-elites", "dads-reward"}, algorithm)
		}
		for _, line := range texts(t, slices.DeleteFunc(slices.Clone(entries), elsewhere), backend.CPU, 2) {
			if !slices.Contains(lists[0], line) {
				lists[1] = append(lists[1], strings.Replace(line, "text cpu", "text cpu-2", 1))
			}
		}
	})
	all.Go(func() { lists[2] = texts(t, entries, backend.CUDA, 1) })
	for _, e := range slices.Concat(smallEntries(), environmentEntries(), ownEntries()) {
		lists[3] = append(lists[3], numbers(t, e, "go"))
	}
	all.Wait()
	for _, kind := range []backend.Kind{backend.CPU, backend.CUDA} {
		lists[3] = append(lists[3], fmt.Sprintf("flags %s %s", kind, backend.FlagText(kind)))
	}
	return slices.Concat(lists[:]...)
}

// xlaLedger returns the lines of the numbers that XLA computes on processors with AVX2. Processes with one
// worker and with two must agree.
func xlaLedger(t *testing.T) []string {
	var found [2]string
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() {
			out, err := child("^TestLedger$", ledgerEnv+"=xla", backend.WorkersEnv+"="+strconv.Itoa(i+1),
				"XLA_FLAGS=--xla_cpu_max_isa=AVX2 --xla_cpu_prefer_vector_width=256", "ONEDNN_MAX_CPU_ISA=AVX2")
			if err != nil {
				t.Errorf("with %d workers: %v\n%s", i+1, err, out)
			}
			found[i] = out
		})
	}
	all.Wait()
	lines := bytesOnXLA(strings.Split(found[0], "\n"), true)
	if list := differences(bytesOnXLA(strings.Split(found[1], "\n"), true), lines); len(list) > 0 {
		t.Errorf("two workers do not compute what one computes: %v", list)
	}
	return lines
}

// child runs a test of this program in a process with variables of its environment.
func child(test string, env ...string) (string, error) {
	cmd := exec.Command(os.Args[0], "-test.run="+test, "-test.timeout=30m")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// bytesOnXLA selects the lines of numbers that XLA computes, or the other ones.
func bytesOnXLA(lines []string, on bool) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.HasPrefix(line, "bytes cpu ") != on
	})
}

// differences describes how lines differ from those of the ledger, by their subjects.
func differences(lines, recorded []string) (list []string) {
	index := func(lines []string) map[string]string {
		hashes := map[string]string{}
		for _, line := range lines {
			i := strings.LastIndex(line, " ")
			hashes[line[:max(0, i)]] = line[i+1:]
		}
		return hashes
	}
	now, then := index(lines), index(recorded)
	all := maps.Clone(then)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case then[name] == "":
			list = append(list, name+" is new")
		case now[name] == "":
			list = append(list, name+" is gone")
		case then[name] != now[name]:
			list = append(list, name+" differs")
		}
	}
	return list
}

// This code computes what the ledger says.
func TestLedger(t *testing.T) {
	mode := os.Getenv(ledgerEnv)
	if mode == "xla" {
		for _, e := range smallEntries() {
			fmt.Println(numbers(t, e, "cpu"))
		}
		return
	}
	var recorded []string
	for _, file := range ledgerFiles {
		recorded = append(recorded, strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile(file)))), "\n")...)
	}
	lines := ledger(t)
	switch mode {
	case "write", "check":
		lines = append(lines, xlaLedger(t)...)
	default:
		lines = append(lines, bytesOnXLA(recorded, true)...)
	}
	if strings.HasPrefix(mode, "write") && !t.Failed() {
		slices.Sort(lines)
		for i, file := range ledgerFiles {
			text := ""
			for _, line := range lines {
				if strings.HasPrefix(line, "bytes ") == (i == 1) {
					text += line + "\n"
				}
			}
			must.Do(os.WriteFile(file, []byte(text), 0o666))
		}
		return
	}
	if list := differences(lines, recorded); len(list) > 0 {
		t.Errorf("%d lines of qdnb/testdata/programs.txt and qdnb/session/bytes.txt are not those of this "+
			"code:\n%s\nIf that is intended, `make programs` writes them again. A commit that changes lines of bytes "+
			"says why in a line \"bytes: ...\".", len(list), strings.Join(list, "\n"))
	}
}

// The ledger sees a constant that changes by one unit in the last place, in the programs and in the
// numbers, but neither names of variables nor the order in which settings are made.
func TestLedgerSeesWhatMatters(t *testing.T) {
	lines := func(spec qdnb.Spec) []string {
		own := entry{"noisy pointmaze", spec}
		return append(texts(t, []entry{own}, backend.CPU, 1), numbers(t, own, "go"))
	}
	emitters := qdnb.OwnParts()["emitter"] // the first, the same with other names, and another constant
	recorded := lines(emitters[0])
	if len(recorded) < 3 {
		t.Fatalf("lines %q", recorded)
	}
	got := differences(lines(emitters[2]), recorded)
	if !slices.Contains(got, "bytes go noisy pointmaze differs") ||
		!slices.Contains(got, "text cpu noisy pointmaze generation differs") {
		t.Errorf("another constant: %q", got)
	}
	renamed := emitters[1]
	renamed.Tune = renamed.Tune.And(runs.Assign("cells=32"))
	errtest.Equal(t, "other names", differences(lines(renamed), recorded), nil)
	for what, got := range map[string][]string{"is gone": differences(recorded[1:], recorded),
		"is new": differences(recorded, recorded[1:])} {
		if len(got) != 1 || !strings.HasSuffix(got[0], what) {
			t.Errorf("a line that %s: %q", what, got)
		}
	}
}

// Processors with other instructions give the same lines.
func TestLedgerIsTheSameOnOtherProcessors(t *testing.T) {
	if os.Getenv(ledgerEnv) == "" {
		var found [2]string
		for i, features := range []string{"", ",cpu.avx512f=off,cpu.avx2=off,cpu.bmi2=off,cpu.popcnt=off"} {
			out, err := child("^TestLedgerIsTheSameOnOtherProcessors$", ledgerEnv+"=go", "GODEBUG=http2debug=0"+features)
			if err != nil || strings.Count(out, "\ntext ") < 6 {
				t.Fatalf("%v: %s", err, out)
			}
			found[i] = strings.Join(slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool {
				return !strings.HasPrefix(line, "text ") && !strings.HasPrefix(line, "bytes ")
			}), "\n")
		}
		errtest.Equal(t, "lines of an older processor", found[1], found[0])
		return
	}
	spec := qdnb.Smallest("pga-aurora", "")
	fmt.Println()
	for _, line := range append(texts(t, []entry{{"pga-aurora pointmaze", spec}}, backend.CPU, 1),
		numbers(t, entry{"pga-aurora pointmaze", spec}, "go")) {
		fmt.Println(line)
	}
}

// Each commit that changes what is computed says why.
func TestRenewedBytesAreExplained(t *testing.T) {
	out, err := exec.Command("git", "log", "--format=%x00%h %s%n%b", "-G^bytes ", "--", ledgerFiles[0],
		ledgerFiles[1]).Output()
	if err != nil {
		t.Logf("there is no history here: %v", err)
		return
	}
	commits := strings.Split(string(out), "\x00")[1:]
	for _, commit := range commits[:max(0, len(commits)-1)] { // the first one made the file
		errtest.Contains(t, commit, "\nbytes: ")
	}
}

// compiled are the operations that XLA compiles for GPUs and TPUs: those of the programs that `make
// aot` compiled for both.
var compiled = strings.Fields(`abs add all_reduce and bitcast_convert broadcast_in_dim ceil clamp
	compare concatenate constant convert cosine divide dot_general dynamic_slice dynamic_update_slice
	exponential exponential_minus_one floor gather iota is_finite log log_plus_one logistic maximum
	minimum multiply negate not optimization_barrier or pad popcnt power reduce reduce_window
	remainder reshape return reverse round_nearest_even rsqrt scatter select shift_left
	shift_right_arithmetic shift_right_logical sign sine slice sort sqrt subtract tanh transpose
	while xor`)

var (
	loop      = regexp.MustCompile(`"stablehlo\.while"\(%\w+, (%\w+)`)
	openOrder = regexp.MustCompile(`"stablehlo\.(?:scatter|all_reduce)".*\n.*\n\s*%\w+ = ` +
		`"stablehlo\.(?:add|multiply)"\(%\w+, %\w+\) : \(tensor<b?f\d`)
)

// between returns the distinct parts of a text from each begin to the next end. Regular expressions take seconds for
// the programs of the ledger.
func between(text, begin, end string) map[string]bool {
	found := map[string]bool{}
	for _, text, ok := strings.Cut(text, begin); ok; _, text, ok = strings.Cut(text, begin) {
		part, _, _ := strings.Cut(text, end)
		found[part] = true
	}
	return found
}

// waits counts the loops of a program whose count is not a constant.
func waits(text string) (loops int) {
	for _, match := range loop.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, match[1]+` = "stablehlo.constant"`) {
			loops++
		}
	}
	return loops
}

// Sums of floats in an open order, and loops with counts of the device, are found.
func TestUnwelcomeOperationsAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		open  bool
		waits int
		graph func(x, index *Node) *Node
	}{
		{"a float scatter-add", true, 0, func(x, index *Node) *Node {
			return ScatterSum(x, index, x, false, false)
		}},
		{"a float scatter-max", false, 0, func(x, index *Node) *Node {
			return ScatterMax(x, index, x, false, false)
		}},
		{"an int scatter-add", false, 0, func(x, index *Node) *Node {
			number := ConvertDType(x, dtypes.Int32)
			return ScatterSum(number, index, number, false, false)
		}},
		{"a loop of 3 iterations", false, 0, func(x, _ *Node) *Node {
			return xla.For(x.Graph(), 3, x, func(_, x *Node) *Node { return Neg(x) })
		}},
		{"a loop of the device's count", false, 1, func(x, index *Node) *Node {
			return xla.Repeat(ReduceAllSum(index), x, func(_, x *Node) *Node { return Neg(x) })
		}},
	} {
		var text string
		p := must.Get(xla.DryRun(backend.CUDA, 1, func(_ string, program []byte) error {
			text = string(program)
			return nil
		}))
		type in struct{ X, Index xla.Array }
		program := must.Get(xla.Compile(p, c.name, in{xla.Declare(dtypes.Float32, 4),
			xla.Declare(dtypes.Int32, 4, 1)}, func(in in) xla.Array {
			return xla.Out(c.graph(in.X.Tree, in.Index.Tree))
		}))
		program.Free()
		errtest.Equal(t, fmt.Sprintf("%s: sums in an open order", c.name), openOrder.MatchString(text), c.open)
		errtest.Equal(t, c.name, waits(text), c.waits)
	}
}

// Settings that would not reach a program are refused.
func TestProgramsRefuseSettings(t *testing.T) {
	set := func(assignment string) qdnb.Tuning {
		return func(h any) error { return runs.Set(h, assignment) }
	}
	for want, spec := range map[string]qdnb.Spec{
		`"nonsense"`:          {Algorithm: "hierarchical-control", Env: "nonsense"},
		`unknown field "xyz"`: {Algorithm: "hierarchical-control", Env: "halfcheetah-hurdles", Tune: set("xyz=1")},
		`unknown field "abc"`: {Algorithm: "adaptation", Env: "ant-uni", Tune: set("abc=1")},
	} {
		errtest.Want(t, errtest.Of(spec.Programs(backend.CUDA, 1)), want)
	}
}

// welcome checks that the programs of a Spec for a GPU or a TPU are built from operations and types that both compile,
// that no sum depends on the order in which a device computes, and that no loop waits for the host, except the epochs
// of AURORA's training.
func welcome(t *testing.T, name string, kind backend.Kind, programs []session.Program) {
	t.Helper()
	types := []string{"f32", "i32", "i64", "ui32", "ui64", "i1"} // not f64, which TPUs lack
	for _, p := range programs {
		text := string(p.Text)
		for operation := range between(text, `"stablehlo.`, `"`) {
			if !slices.Contains(compiled, operation) {
				t.Errorf("%s of %s for %s has the operation %s: add it to the list if `make aot` compiles it",
					p.Name, name, kind, operation)
			}
		}
		for tensor := range between(text, "tensor<", ">") {
			if number := tensor[strings.LastIndex(tensor, "x")+1:]; !slices.Contains(types, number) {
				t.Errorf("%s of %s for %s has numbers of type %s", p.Name, name, kind, number)
			}
		}
		if open := openOrder.FindString(text); open != "" {
			t.Errorf("%s of %s for %s sums floats in an order that the device chooses: %s", p.Name, name, kind, open)
		}
		allowed := 0
		if strings.HasSuffix(p.Name, "training") {
			allowed = 1
		}
		// MuJoCo's constraints are solved until all copies have converged, which only the device knows.
		solves := strings.HasSuffix(name, "-v5")
		if n := waits(text); n != allowed && !(solves && n > 0) {
			t.Errorf("%s of %s for %s has %d loops whose count only the device knows, not %d", p.Name, name, kind, n, allowed)
		}
		if kind == backend.TPU && strings.Contains(text, "precision DEFAULT") {
			t.Errorf("%s of %s has products of bfloat16", p.Name, name)
		}
	}
	if len(programs) == 0 {
		t.Errorf("%s has no programs", name)
	}
}

// Programs for TPUs are built. Those for GPUs are checked with the ledger. Small networks have the same operations as the
// paper's.
func TestProgramsForAcceleratorsBuild(t *testing.T) {
	builds := func(name string, spec qdnb.Spec, kind backend.Kind, devices int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			welcome(t, name, kind, must.Get(spec.Programs(kind, devices)))
		})
	}
	for _, name := range records.Names() {
		builds(name, qdnb.Smallest(name, ""), backend.TPU, 1)
	}
	for _, name := range []string{"map-elites", "pga-aurora"} {
		builds(name+" on two devices", qdnb.Smallest(name, ""), backend.CUDA, 2)
	}
	for _, spec := range []qdnb.Spec{{Algorithm: "dads-reward", Env: "ant-uni"}, {Algorithm: "map-elites", Env: "ant-maze"},
		{Algorithm: records.HierarchicalControl, Env: "halfcheetah-hurdles"}, {Algorithm: records.Adaptation, Env: "ant-maze"}} {
		builds(spec.Algorithm+" on "+spec.Env, spec, backend.TPU, 1)
	}
	small := runs.Assign("cells=64", "cvt_samples=500", "hidden=[8,8]")
	for _, env := range envs.Names() {
		if !strings.HasSuffix(env, "-v5") || env == "Humanoid-v5" {
			continue // no robot of MuJoCo, or one that differs only in its descriptor or takes seconds to build
		}
		builds("map-elites on "+env, qdnb.Spec{Algorithm: "map-elites", Env: env, Tune: small}, backend.TPU, 2)
	}
}
