package qdnb

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// A run knows whether this build would compute it by the same programs. Seed, budget and backend do not
// matter, but settings do.
func TestOrigins(t *testing.T) {
	var origins session.Origins
	check := func(name string, run *runs.Run, want session.Origin) {
		t.Helper()
		errtest.Equal(t, name, origins.Of(run), want)
	}
	root := t.TempDir()
	run := train(t, small(root, 2))
	check("a run of this build", run, session.SamePrograms)
	other := small(root, 3)
	other.Seed, other.Backend = 7, device()
	if a, b := run.Status.Machines[0].Programs, train(t, other).Status.Machines[0].Programs; a != b || len(a) != 16 {
		t.Errorf("another seed has the programs %s, not %s", b, a)
	}
	larger := small(root, 2)
	larger.Tune = more(larger.Tune, "batch=8")
	if a, b := run.Status.Machines[0].Programs, train(t, larger).Status.Machines[0].Programs; a == b {
		t.Error("another batch has the same programs")
	}
	named := small(root, 2)
	named.Name = "large-steps"
	named.Tune = more(named.Tune, "iso_sigma=0.5")
	check("a variant by settings", train(t, named), session.SamePrograms)
	check("a variant by parts", train(t, variantIn(root, noisy(0.1))), session.UnknownPrograms)

	altered := func(change func(*runs.Run)) *runs.Run {
		again := must.Get(runs.Open(run.Dir))
		change(again)
		return again
	}
	check("an earlier program", altered(func(r *runs.Run) {
		r.Status.Machines[0].Programs, r.Status.Machines[0].Numbers = "0123456789abcdef", ""
	}), session.OtherPrograms)
	check("two programs", altered(func(r *runs.Run) {
		r.Status.UseMachine(runs.MachineUse{Programs: "0123456789abcdef", After: 1})
	}), session.OtherPrograms)
	check("no record", altered(func(r *runs.Run) { r.Status.Machines[0].Programs = "" }), session.UnknownPrograms)
	check("no machine", altered(func(r *runs.Run) { r.Status.Machines = nil }), session.UnknownPrograms)
	check("a setting that is gone", altered(func(r *runs.Run) {
		r.Config.Hyperparameters = json.RawMessage(`{"batch_size": 16}`)
	}), session.OtherPrograms)

	adapted := must.Get(Adapt(context.Background(), AdaptSpec{Skills: walkers(t, root, "map-elites"), Runs: root,
		Perturbation: envs.GravityMultiplier, Values: [][]float64{{1}}, Episodes: 1, Quiet: true}))
	check("adaptation", adapted, session.SamePrograms)
	control := controlled(t, smallControl(cheetahs(t, root, "map-elites"), root, 1))
	check("control", control, session.SamePrograms)
	must.Do(os.RemoveAll(filepath.Join(root, adapted.Config.SkillsRun())))
	must.Do(os.RemoveAll(filepath.Join(root, control.Config.SkillsRun())))
	origins = session.Origins{}
	check("adaptation without its skills", adapted, session.UnknownPrograms)
	check("control without its skills", control, session.UnknownPrograms)
}
