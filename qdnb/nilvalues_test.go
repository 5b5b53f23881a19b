package qdnb

import (
	"context"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
)

// pointed is an architecture whose methods read it.
type pointed struct{ nn.MLP }

// nil where a value is expected is an error of one line.
func TestNilValues(t *testing.T) {
	of := func(algorithm string, tune Tuning, change func(*Spec)) error {
		spec := smallest(algorithm, t.TempDir())
		spec.Name, spec.Tune = "own", spec.Tune.And(tune)
		if change != nil {
			change(&spec)
		}
		return errtest.Of(Train(background, spec))
	}
	var none context.Context
	spec := small(t.TempDir(), 1)
	for name, err := range map[string]error{
		"environment": of("map-elites", nil, func(s *Spec) { s.Env, s.Environment = "", (*envs.Simulator)(nil) }),
		"loop": of("map-elites", nil, func(s *Spec) {
			s.Algorithm, s.Loop, s.Tune = "", (*evolution.MapElites)(nil), nil
		}),
		"diversity":  of("diayn-reward", skilled(skills.Parts{Diversity: (*skills.DIAYN)(nil)}), nil),
		"objective":  of("diayn-reward", skilled(skills.Parts{Objective: (*skills.SMERL)(nil)}), nil),
		"archive":    of("map-elites", archiving((*repertoire.Grid)(nil)), nil),
		"emitter":    of("map-elites", emitting(evolution.Stateless(nil)), nil),
		"no emitter": of("map-elites", emitting((*evolution.IsoLineEmitter)(nil)), nil),
		"policy":     of("map-elites", Tune(func(m *evolution.MapElites) { m.Policy = (*pointed)(nil) }), nil),
		"play policy": errtest.Of(Play(background, finishedRun(t, t.TempDir(), "map-elites", "pointmaze", 1, 3),
			PlaySpec{Policy: (*pointed)(nil)})),
		"play environment": errtest.Of(Play(background, finishedRun(t, t.TempDir(), "map-elites", "pointmaze", 1, 3),
			PlaySpec{Environment: (*envs.Simulator)(nil)})),
		"adapt environment": errtest.Of(Adapt(background, AdaptSpec{Environment: (*envs.Simulator)(nil),
			Skills: finishedRun(t, t.TempDir(), "map-elites", "pointmaze", 1, 3), Perturbation: envs.GravityMultiplier})),
		"tune":       of("map-elites", Tune[evolution.MapElites](nil), nil),
		"context":    errtest.Of(Train(none, spec)),
		"contexts":   errtest.Of(TrainSeeds(none, spec, 1, 2)),
		"ask":        errtest.Of(Ask(none, simulated("dns", spec.Runs, 1))),
		"export":     errtest.Of(exchange.Export(nil, exchange.ExportSpec{Out: "x.npz"})),
		"repertoire": errtest.Of((*runs.Run)(nil).Repertoire()),
		"metrics":    errtest.Of((*runs.Run)(nil).Metrics()),
		"snapshots":  errtest.Of((*runs.Run)(nil).Snapshots()),
	} {
		t.Run(name, func(t *testing.T) { errtest.Want(t, err, "nil") })
	}
	spec.Tune = spec.Tune.And(nil)
	must.Get(spec.Config())
}
