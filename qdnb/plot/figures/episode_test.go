package figures

import (
	"math"
	"os"
	"testing"

	"example.com/qdnb/internal/must"
)

// way returns an episode of a robot that hops.
func way(skills int) Episode {
	e := Episode{Title: "return 512, 6 of 10 hurdles passed", Skill: "cell", Decision: 10}
	for i := range 245 {
		e.X = append(e.X, 0.08*float64(i))
		e.Z = append(e.Z, 0.65+0.3*math.Abs(math.Sin(float64(i)/12)))
	}
	for k := range 25 {
		e.Skills = append(e.Skills, 37*(k*k%skills))
	}
	for i := range 10 {
		e.Hurdles = append(e.Hurdles, Hurdle{3 * float64(i+1), 0.25})
	}
	return e
}

// Few skills get a legend, many are named in their blocks. A trajectory with gaps can be drawn.
func TestMetaEpisode(t *testing.T) {
	for name, skills := range map[string]int{"few": 5, "many": 23} {
		e := way(skills)
		e.X[50] = math.NaN()
		fig := must.Get(MetaEpisode(e))
		png := must.Get(fig.PNG(Resolution))
		if dir := os.Getenv("QDNB_TEST_FIGURES"); dir != "" {
			must.Do(os.WriteFile(dir+"/episode-"+name+".png", png, 0o666))
		}
		_, entries := e.colors()
		if want := map[string]bool{"few": true, "many": false}[name]; (len(entries) > 0) != want {
			t.Errorf("%s: %d entries in the legend", name, len(entries))
		}
	}
}

func TestMetaEpisodeRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Episode){
		"no steps":        func(e *Episode) { e.X, e.Z = nil, nil },
		"too few heights": func(e *Episode) { e.Z = e.Z[1:] },
		"too few skills":  func(e *Episode) { e.Skills = e.Skills[1:] },
		"no decisions":    func(e *Episode) { e.Decision = 0 },
		"a hurdle at NaN": func(e *Episode) { e.Hurdles[0].X = math.NaN() },
	} {
		e := way(5)
		spoil(&e)
		if _, err := MetaEpisode(e); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
