package skills

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// 13_metra.npz and 16_metra_continuous.npz: rewards, losses and four updates, computed in JAX from
// the publication's equations and constants (tools/golden_metra.py).
func TestGoldenMETRA(t *testing.T) {
	t.Run("numbered", func(t *testing.T) { compareMETRA(t, "13_metra.npz", false) })
	t.Run("continuous", func(t *testing.T) { compareMETRA(t, "16_metra_continuous.npz", true) })
}

func compareMETRA(t *testing.T, file string, continuous bool) {
	f := golden.Read(t, file)
	batch, inputs := f.Shape("now_1")[0], f.Shape("now_1")[1]
	skills, params := f.Shape("skill_1")[1], f.Shape("row")[0]
	metra := METRA{LearningRate: f.Number("const.learning_rate"), Hidden: []int{6, 6},
		Multiplier: f.Number("const.multiplier"), Slack: f.Number("const.slack")}
	task := taskOf(skills, inputs)
	if continuous {
		metra.Components, task.Skills = skills, unitVectors(1, skills)
	}
	const steps = 4
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		in := []*tensors.Tensor{xlatest.Tensor(f.Float32s("row"), 1, params),
			xlatest.Tensor(make([]float32, batch), batch)}
		for i := 1; i <= steps; i++ {
			for _, name := range []string{"skill", "now", "next"} {
				in = append(in, array(f, fmt.Sprint(name, "_", i)))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			m := metra.Init(task, random.NewKey(in[0].Graph(), 1)).(METRA)
			m.Nets.Params.Encoder = m.Nets.Params.Encoder.MLP.Network(in[0], 0)
			var model Diversity = m
			var out []*Node
			for i := range steps {
				b := batchOf([]*Node{in[2+3*i], in[3+3*i], in[4+3*i], in[1]})
				reward := model.Reward(b)
				var loss *Node
				model, loss = model.Learn(b)
				nets := model.(METRA).Nets.Params
				out = append(out, reward, loss, Concatenate([]*Node{
					nets.Encoder.Join(), Reshape(nets.LogMultiplier, 1, 1)}, 1))
			}
			return out
		}, in...)
		for i := range steps {
			flat := func(k int) []float32 { return xlatest.Flat[float32](t, out[3*i+k]) }
			stored := func(name string) []float32 { return f.Float32s(fmt.Sprint(name, "_", i+1)) }
			row := append(stored("row"), stored("log_multiplier")...)
			xlatest.Close(t, fmt.Sprint("rewards ", i), flat(0), stored("reward"), 2e-5)
			xlatest.Close(t, fmt.Sprint("loss ", i), flat(1), stored("loss"), 2e-5)
			xlatest.Close(t, fmt.Sprint("parameters ", i), flat(2), row, 2e-5)
		}
	})
}

// Evaluated skills are unit vectors, all different.
func TestUnitVectors(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		skills := unitVectors(2, size).Evaluated
		for _, skill := range skills {
			square := 0.0
			for _, x := range skill {
				square += float64(x) * float64(x)
			}
			if math.Abs(square-1) > 1e-6 {
				t.Errorf("skill %v is no unit vector", skill)
			}
		}
		if size > 1 && slices.Equal(skills[0], skills[1]) {
			t.Errorf("skills %v are equal", skills)
		}
	}
}

// Numbered skills need an environment each. Each environment plays any of continuous skills.
func TestMETRAEvaluatesMoreSkillsThanEnvironments(t *testing.T) {
	m := defaultMetra(endless.Spec())
	m.NumSkills = m.EnvBatchSize + 1
	errtest.Want(t, m.Check(), "at most env_batch_size")
	parts.Change(m, func(d *METRA) { d.Components = 2 })
	if err := m.Check(); err != nil {
		t.Errorf("continuous: %v", err)
	}
	m.NumSkills = 0
	errtest.Want(t, m.Check(), "num_skills must be between")
}

// Skills that move in different directions are distinguished, and a step has length 1 in the learned
// space. Transitions that end an episode count for nothing.
func TestMETRALearns(t *testing.T) {
	h := randomHistory(rand.New(rand.NewPCG(1, 2)), 60, 3, 3)
	for i := range h.now { // a step of length 1 along the skill's own axis, from anywhere
		h.next[i] = h.now[i]
		if z := h.skill[i/h.d]; i%h.d == z {
			h.next[i]++
		}
		if h.done[i/h.d] = 0; i/h.d%7 == 0 {
			h.done[i/h.d], h.next[i] = 1, 1000
		}
	}
	metra := METRA{LearningRate: 1e-2, Hidden: []int{16, 16}, Multiplier: 30, Slack: 1e-3}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		reward, _, last := learn(t, p, metra, h, 800)
		// mean over three outputs of step^2 is 1, so |step| is at most sqrt(3), and |u| is sqrt(3/2)
		running := 1 - 9.0/60
		most := float32(running * math.Sqrt(3*1.5))
		if !(reward > 0.8*most && reward < 1.1*most) || !(last < 0) {
			t.Errorf("the mean reward is %g of at most %g, the loss %g", reward, most, last)
		}
	})
}

// On pointmaze, whose descriptor keeps the last position when an episode ends, the first step of an
// episode starts where the episode does: a jump from the end of the last one would be rewarded.
func TestMETRAStartsEpisodesAnew(t *testing.T) {
	env := envs.Pointmaze{}
	m := defaultMetra(env.Spec())
	m.SAC, m.NumSkills = small().SAC, 3
	parts.Change(m, func(d *METRA) { d.Hidden = []int{8} })
	const n, width = 6, 2*2 + 2 + 3 + 1 + 2*2
	s := startSearch(t, xlatest.Pure(t), m.method(env), small())
	steps(t, s, 11)
	rows, stored := stored(t, s)
	if stored != width || len(rows) != 10*n*width {
		t.Fatalf("%d numbers of width %d", len(rows), stored)
	}
	ends := 0
	for row := range slices.Chunk(rows, width) {
		if !slices.Equal(row[:2], row[10:12]) { // observations of pointmaze are its descriptors
			t.Errorf("a step from %v has the descriptor %v", row[:2], row[10:12])
		}
		ends += int(row[7])
	}
	if ends != n {
		t.Errorf("%d episodes ended, want %d", ends, n)
	}
}
