package skills

import (
	"testing"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// Changes of a search that do not change its programs.
var tunings = map[string]func(objective *SMERL, config *Config){
	"nothing":        func(*SMERL, *Config) {},
	"smerl_target":   func(o *SMERL, _ *Config) { o.Target = 1e3 },
	"smerl_margin":   func(o *SMERL, _ *Config) { o.Margin = 1e3 },
	"diversity":      func(o *SMERL, _ *Config) { o.Scale = 4 },
	"alpha_init":     func(_ *SMERL, c *Config) { c.SAC.AlphaInit = 0.37 },
	"reward_scaling": func(_ *SMERL, c *Config) { c.SAC.RewardScaling = 5 },
	"seed":           func(_ *SMERL, c *Config) { c.Seed = 12 },
}

func tuned(change func(*SMERL, *Config)) (SMERL, Config) {
	objective, config := SMERL{Target: -2, Margin: 1, Scale: 2.3}, small()
	change(&objective, &config)
	return objective, config
}

// Searches that differ only in hyperparameters bound at run time and in seeds are compiled once.
func TestNumbersOfAMethodAreInputs(t *testing.T) {
	p := xlatest.Best(t)
	if p.Kind == xla.Go {
		t.Skip("SKIPPED: the pure Go backend compiles every program")
	}
	search := func(change func(*SMERL, *Config)) (compiled int64) {
		objective, config := tuned(change)
		before := xla.Compilations()
		s := newSearch(t, p, short, Method{smallDADS, objective}, config)
		defer s.Close()
		steps(t, s, 2)
		return xla.Compilations() - before
	}
	search(tunings["nothing"])
	for name, change := range tunings {
		if compiled := search(change); compiled != 0 {
			t.Errorf("another %s: %d programs were compiled", name, compiled)
		}
	}
}

// untuned is an objective whose parameters are constants.
type untuned struct{ Gate }

// Each search equals, bit for bit, one with the same parameters as constants, and differs from the
// others.
func TestNumbersOfAMethodAreTakenFromTheInputs(t *testing.T) {
	p := xlatest.Pure(t)
	after := func(objective Objective, config Config) map[string]npz.Array {
		s := newSearch(t, p, short, Method{smallDADS, objective}, config)
		defer s.Close()
		steps(t, s, 10)
		return memory(t, s)
	}
	all := map[string]map[string]npz.Array{}
	for name, change := range tunings {
		objective, config := tuned(change)
		got := after(objective, config)
		for other, held := range all {
			if len(xlatest.Differ(got, held)) == 0 {
				t.Errorf("%s and %s give equal results", name, other)
			}
		}
		all[name] = got
		if names := xlatest.Differ(got, after(untuned{objective}, config)); len(names) > 0 {
			t.Errorf("another %s: with constants %v differ", name, names)
		}
	}
}
