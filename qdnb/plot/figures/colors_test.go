package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/algorithms/records"
)

// linear converts an sRGB byte to linear light.
func linear(v uint8) float64 {
	x := float64(v) / 255
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}

func linearRGB(c color.NRGBA) [3]float64 {
	return [3]float64{linear(c.R), linear(c.G), linear(c.B)}
}

// lab converts linear sRGB to CIE L*a*b* (D65).
func lab(c [3]float64) [3]float64 {
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.9505)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func colorDifference(a, b [3]float64) float64 {
	return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
}

// Severe colour vision deficiency in linear RGB (Machado, Oliveira and Fernandes 2009, table 1).
var (
	protanopia = [3][3]float64{
		{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}
	deuteranopia = [3][3]float64{
		{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}
)

func seen(m [3][3]float64, c [3]float64) (out [3]float64) {
	for i := range 3 {
		for k := range 3 {
			out[i] += m[i][k] * c[k]
		}
		out[i] = min(max(out[i], 0), 1)
	}
	return out
}

func TestViridisRisesInLuminance(t *testing.T) {
	last := -1.0
	for i := range 256 {
		c := linearRGB(Viridis(float64(i) / 255))
		if l := lab(c)[0]; l <= last-0.1 { // the table's bytes are rounded
			t.Errorf("lightness falls to %g at %d", l, i)
		} else {
			last = l
		}
	}
	for _, c := range []struct {
		t    float64
		want uint32
	}{
		// The published ends and middle.
		{0, 0x440154}, {1, 0xfde725}, {128.0 / 255, 0x21918c},
		{-3, 0x440154}, {math.Inf(1), 0xfde725},
	} {
		errtest.Equal(t, c.t, Viridis(c.t), rgb(c.want))
	}
	if Viridis(math.NaN()) != emptyFill {
		t.Error("NaN has a colour of the map")
	}
}

// Two methods differ in colour for every reader, or else in dashes: those that are compared, the
// paper's others, and variants of a user.
func TestMethodStylesAreDistinct(t *testing.T) {
	for _, names := range [][]string{slices.Concat(records.Compared(), records.Names(records.Later)),
		slices.Concat(records.Compared(), records.Names(records.Unrewarded), []string{"variant a", "variant b", "variant c",
			"variant d", "variant e", "variant f", "variant g", "variant h"})} {
		styles := MethodStyles(names...)
		for i, a := range names {
			for _, b := range names[:i] {
				x, y := styles[a], styles[b]
				cx, cy := linearRGB(x.Color), linearRGB(y.Color)
				if d := colorDifference(lab(cx), lab(cy)); d < 15 {
					t.Errorf("%s and %s: colours differ by only %.1f", a, b, d)
				}
				for name, m := range map[string][3][3]float64{"protanopia": protanopia,
					"deuteranopia": deuteranopia} {
					if d := colorDifference(lab(seen(m, cx)), lab(seen(m, cy))); d < 10 &&
						slices.Equal(x.Dashes, y.Dashes) {
						t.Errorf("%s and %s: same dashes and colours that differ by only %.1f with %s", a, b, d, name)
					}
				}
			}
			if d := lab(linearRGB(styles[a].Color))[0]; d > 85 {
				t.Errorf("%s is too light on white: L* = %.0f", a, d)
			}
		}
	}
}

func TestMethodStylesAreStable(t *testing.T) {
	alone := MethodStyles("my-variant")["my-variant"]
	errtest.Equal(t, "unknown name printed as", alone.Name, "my-variant")
	among := MethodStyles("dads", "my-variant", "map-elites", "my-variant")
	if fmt.Sprint(among["my-variant"]) != fmt.Sprint(alone) {
		t.Errorf("the style of a variant depends on the paper's methods in the call: %v, %v",
			among["my-variant"], alone)
	}
	if among["map-elites"].Name != "MAP-Elites" || len(among) != 3 {
		t.Errorf("got %v", among)
	}
	var many []string
	for i := range 24 {
		many = append(many, fmt.Sprintf("variant %d", i))
	}
	distinct := make(map[string]bool)
	for _, s := range MethodStyles(many...) {
		distinct[fmt.Sprint(s.Color, s.Dashes)] = true
	}
	errtest.Equal(t, "colors of 24 unknown names", len(distinct), 24)
	errtest.Equal(t, "styles of 25 names", len(MethodStyles(append(many, "one more")...)), 25)
}

func TestSortMethods(t *testing.T) {
	got := SortMethods([]string{"zeta", "dads", "map-elites", "alpha", "dads", "aurora"})
	errtest.Equal(t, "order", got, []string{"map-elites", "aurora", "dads", "alpha", "zeta"})
	if MethodName("smerl-diayn") != "SMERL(DIAYN)" || MethodName("x") != "x" {
		t.Error("wrong display names")
	}
}

// A text names methods as legends do. Other words stay unchanged, including names that only begin
// or end like a method.
func TestNameMethods(t *testing.T) {
	for text, want := range map[string]string{
		"pga-map-elites 977 against map-elites 5": "PGA-MAP-Elites 977 against MAP-Elites 5",
		"dads-reward, no prior (smerl-diayn)":     "DADS+REWARD, no prior (SMERL(DIAYN))",
		"map-elites-many-scales on ant-trap":      "map-elites-many-scales on ant-trap",
		"needs aurora; a sack of dads":            "needs AURORA; a sack of DADS",
	} {
		errtest.Equal(t, text, NameMethods(text), want)
	}
}
