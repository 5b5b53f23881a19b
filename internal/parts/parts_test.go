package parts_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/qdnb/runs"
)

type (
	maker interface{ make() }
	// strategy has a setting of its name, and one that only code can set.
	strategy struct {
		Rate   float64 `json:"rate"`
		Sizes  []int   `json:"sizes,omitempty"`
		Hidden func()
	}
	wrapped struct {
		strategy
		Sigma float64 `json:"sigma"`
	}
	share struct {
		Maker maker
		Of    float64
	}
	algorithm struct {
		Batch int     `json:"batch"`
		Rate  float64 `json:"rate"`
		Mix   []share `json:"-" parts:"mix"`
		Keep  maker   `json:"-" parts:"keep"`
	}
)

func (strategy) make()                 {}
func (share) Names() map[string]string { return map[string]string{"Of": "share"} }

func sample() *algorithm {
	return &algorithm{Batch: 4, Rate: 1, Mix: []share{{strategy{Rate: 1}, 0.5}, {wrapped{strategy{Rate: 2}, 3}, 0.5}}}
}

// Settings of parts are read and written by their names, and by their paths where values differ. What is
// read is what was written.
func TestSettingsOfParts(t *testing.T) {
	a := sample()
	const want = `{"batch":4,"mix.1.rate":2,"rate":1,"share":0.5,"sigma":3}`
	errtest.Equal(t, "JSON", string(must.Get(parts.Marshal(a))), want)
	original := a.Mix[0].Maker
	must.Do(runs.Set(a, "sigma=7", "mix.1.rate=5", "sizes=1,2", "batch=1e1"))
	const changed = `{"batch":10,"mix.1.rate":5,"rate":1,"share":0.5,"sigma":7,"sizes":[1,2]}`
	errtest.Equal(t, "changed", string(must.Get(parts.Marshal(a))), changed)
	errtest.Equal(t, "sizes of the original part", len(original.(strategy).Sizes), 0)
	must.Do(runs.Set(a, "rate=9"))
	if a.Rate != 9 || a.Mix[0].Maker.(strategy).Rate != 9 || a.Mix[1].Maker.(wrapped).Rate != 9 {
		t.Errorf("a setting of several parts: %+v", a)
	}
	other := sample()
	must.Do(runs.Decode([]byte(changed), other))
	errtest.Equal(t, "decoded", string(must.Get(parts.Marshal(other))), changed)
	for assignment, want := range map[string]string{"sigm=1": `did you mean "sigma"`, "mix.2.rate=1": "unknown field",
		"sigma=x": "sigma: "} {
		if err := runs.Set(a, "batch=77", assignment); err == nil || !strings.Contains(err.Error(), want) || a.Batch != 10 {
			t.Errorf("%s: %v, batch %d", assignment, err, a.Batch)
		}
	}
	a.Mix[0].Maker = strategy{Rate: math.NaN()}
	errtest.Want(t, errtest.Of(parts.Marshal(a)), "unsupported value: NaN")
}

// A setting that is left out where it is zero is written for a part that differs from an earlier one in it.
func TestOmittedSettingsOfParts(t *testing.T) {
	for want, sizes := range map[string][2][]int{
		`{"batch":0,"mix.1.sizes":null,"rate":0,"share":0,"sizes":[3]}`: {{3}, nil},
		`{"batch":0,"mix.1.sizes":[3],"rate":0,"share":0}`:              {nil, {3}},
		`{"batch":0,"rate":0,"share":0,"sizes":[3]}`:                    {{3}, {3}},
	} {
		a := &algorithm{Mix: []share{{Maker: strategy{Sizes: sizes[0]}}, {Maker: strategy{Sizes: sizes[1]}}}}
		got := string(must.Get(parts.Marshal(a)))
		errtest.Equal(t, "settings", got, want)
		other := &algorithm{Mix: []share{{Maker: strategy{}}, {Maker: strategy{}}}}
		must.Do(runs.Decode([]byte(got), other))
		for i, want := range sizes {
			errtest.Equal(t, fmt.Sprint("sizes of part ", i), other.Mix[i].Maker.(strategy).Sizes, want)
		}
	}
}

// A pointer to a part is set like the part, and is not shared.
func TestPointersToParts(t *testing.T) {
	own := &strategy{Rate: 1}
	a := &algorithm{Keep: own}
	must.Do(runs.Set(a, "sizes=3"))
	if got := a.Keep.(*strategy); got == own || !slices.Equal(got.Sizes, []int{3}) || own.Sizes != nil {
		t.Errorf("%+v and %+v", got, own)
	}
	a.Keep = (*strategy)(nil)
	errtest.Equal(t, "as JSON", string(must.Get(parts.Marshal(a))), `{"batch":0,"rate":0}`)
}

// Change finds the algorithm, a part, and what a part embeds.
func TestChange(t *testing.T) {
	a := sample()
	a.Mix = a.Mix[1:]
	if !parts.Change(a, func(a *algorithm) { a.Batch, a.Keep = 9, strategy{} }) || a.Batch != 9 || a.Keep == nil {
		t.Errorf("%+v", a)
	}
	if !parts.Change(a, func(w *wrapped) { w.Sigma = 1 }) || a.Mix[0].Maker.(wrapped).Sigma != 1 {
		t.Errorf("%+v", a.Mix)
	}
	if parts.Change(a, func(*json.Decoder) {}) {
		t.Error("there is no decoder")
	}
}

// Parts are replaced if their code differs, not if their settings do.
func TestReplaced(t *testing.T) {
	for want, change := range map[string]func(*algorithm){
		"":    func(a *algorithm) { a.Batch, a.Mix[0].Of, a.Mix[1].Maker = 7, 0.1, wrapped{strategy{Rate: 8}, 8} },
		"Mix": func(a *algorithm) { a.Mix[1].Maker = strategy{Rate: 2} },
		"Mix Keep": func(a *algorithm) {
			a.Mix[0].Maker, a.Keep = strategy{Rate: 1, Hidden: func() {}}, strategy{}
		},
	} {
		a := sample()
		change(a)
		errtest.Equal(t, "replaced", strings.Join(parts.Replaced(sample(), a), " "), want)
	}
}
