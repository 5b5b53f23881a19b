package evolution

import (
	"cmp"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// Aurora are the hyperparameters of AURORA: MAP-Elites with an archive that learns its descriptors.
type Aurora struct {
	MapElites
	repertoire.AuroraSettings
}

// DefaultAurora returns the paper's hyperparameters for an environment.
func DefaultAurora(env envs.Spec) *Aurora {
	return &Aurora{*DefaultMapElites(env), repertoire.DefaultAuroraSettings(env)}
}

// Check implements [Hyperparameters].
func (a *Aurora) Check() error {
	return cmp.Or(a.MapElites.Check(), a.oneStart(), a.AuroraSettings.Check(a.EpisodeLength))
}

// New implements [algorithms.Algorithm].
func (a *Aurora) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(a, platform, env, seed)
}

// Method implements [Hyperparameters]: MAP-Elites with AURORA's archive.
func (a *Aurora) Method() Method {
	return aurora(a.MapElites.Method(), a.AuroraSettings)
}

// aurora replaces the archive of a method by AURORA's. Evaluations differ only in their policies.
func aurora(m Method, s repertoire.AuroraSettings) Method {
	m.Archive, m.SameStart, m.PassiveEvery = repertoire.Aurora{AuroraSettings: s}, true, s.Every
	return m
}
