package qdnb

import (
	"context"
	"os"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
)

// unbuildable is an environment whose Step cannot be compiled.
type unbuildable struct{ drift }

func (u unbuildable) Step(s envs.State, action *Node) envs.State {
	s.Reward = Add(s.Reward, Const(action.Graph(), []float32{1, 2, 3, 4, 5}))
	return s
}

// lengthless returns a run on walker-uni with episodes of no steps. Its rollout is rejected, like
// one that needs too much memory.
func lengthless(t *testing.T) *runs.Run {
	t.Helper()
	run := walkers(t, t.TempDir(), "map-elites")
	config := nb.Must(runs.NewConfig("map-elites", "walker-uni", 0,
		map[string]any{"hidden": []int{8}, "episode_length": 0}))
	return nb.Must(runs.Import(t.TempDir(), config, func(w *runs.Writer) error {
		if err := w.SaveRepertoire(nb.Must(run.Repertoire())); err != nil {
			return err
		}
		return w.SaveStatus(run.Status)
	}))
}

// A rollout that is rejected or cannot be compiled gives an error of one line and leaves no files.
func TestRolloutThatCannotBegin(t *testing.T) {
	run, _ := madeUp(t, 3)
	for name, c := range map[string]struct {
		want string
		do   func(root string) error
	}{
		"evaluate, compilation": {`program "evaluation" cannot be compiled`, func(string) error {
			_, err := Play(background, run, PlaySpec{Environment: unbuildable{drift{"drift"}}, Episodes: 2,
				Backend: "go"})
			return err
		}},
		"evaluate": {"1 step", func(string) error {
			_, err := Play(background, lengthless(t), PlaySpec{Episodes: 2, Backend: "go"})
			return err
		}},
		"films": {"1 step", func(string) error {
			_, err := films(lengthless(t), PlaySpec{Episodes: 1, Backend: "go"})
			return err
		}},
		"adapt": {"1 step", func(root string) error {
			_, err := Adapt(context.Background(), AdaptSpec{
				Skills: lengthless(t), Perturbation: envs.GravityMultiplier, Values: [][]float64{{1}},
				Episodes: 2, Runs: root, Backend: "go", Quiet: true,
			})
			return err
		}},
		"control": {"memory", func(root string) error {
			spec := smallControl(cheetahs(t, t.TempDir(), "map-elites"), root, 1)
			spec.Tune = more(spec.Tune, "num_envs=131072", "batch_size=131072", "unroll_length=4096")
			_, err := Control(context.Background(), spec)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			errtest.Want(t, c.do(root), c.want)
			if left, _ := os.ReadDir(root); len(left) > 0 {
				t.Errorf("it leaves %v", left)
			}
		})
	}
}
