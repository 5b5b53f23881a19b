package figures

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// svgText returns the SVG of a figure, to search for texts.
func svgText(t *testing.T, figure *Figure, err error) string {
	t.Helper()
	must.Do(err)
	data := must.Get(figure.encode(".svg"))
	return string(data)
}

// sampleBoxes returns two environments with nine values for each of two methods, one with a single
// value, and one without values.
func sampleBoxes() []BoxPanel {
	me, dads := Sample{Name: "map-elites"}, Sample{Name: "dads-reward"}
	for i := range 9 {
		me.Values = append(me.Values, 1-0.03*float64(i))
		dads.Values = append(dads.Values, 0.2+0.08*float64(i*i%9))
	}
	one := Sample{Name: "dads-reward", Values: []float64{0.4}}
	return []BoxPanel{
		{Title: "ant-omni", YLabel: "Normalised QD score", YLimits: [2]float64{0, 1.05},
			Groups: []BoxGroup{{Samples: []Sample{dads, me}}}},
		{Title: "ant-uni", YLimits: [2]float64{0, 1.05},
			Groups: []BoxGroup{{Samples: []Sample{me, one}}}},
		{Title: "walker-uni", Groups: []BoxGroup{{}}},
	}
}

func TestBoxImages(t *testing.T) {
	full := must.Get(Boxes(sampleBoxes(), BoxOptions{Outer: true, Points: "setting"}))
	compareImage(t, "boxes", full, 360)
	grouped := BoxPanel{YLabel: "Score"}
	for _, p := range sampleBoxes() {
		grouped.Groups = append(grouped.Groups, BoxGroup{Label: p.Title, Samples: p.Groups[0].Samples})
	}
	plain := must.Get(Boxes([]BoxPanel{grouped}, BoxOptions{}))
	compareImage(t, "boxes-grouped", plain, 300)
}

// Missing values and values that are not finite leave gaps; the legend names only what is drawn.
func TestBoxEdges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, panels := range map[string][]BoxPanel{
		"no groups": {{}},
		"no values": {{Groups: []BoxGroup{{Label: "a", Samples: []Sample{{Name: "map-elites"}}}}}},
		"not finite": {{Groups: []BoxGroup{{Samples: []Sample{{Name: "x",
			Values: []float64{nan, 1, inf}}}}}}},
		"equal values": {{Groups: []BoxGroup{{Samples: []Sample{{Values: []float64{3, 3, 3}}}}}}},
		"beyond limits": {{YLimits: [2]float64{0, 1},
			Groups: []BoxGroup{{Samples: []Sample{{Name: "x", Values: []float64{-5, -4, 9}}}}}}},
		"twice in a group": {{Groups: []BoxGroup{{Samples: []Sample{{Name: "x", Values: []float64{1, 2}},
			{Name: "x", Values: []float64{2, 3}}}}}}},
		"many panels": make([]BoxPanel, 30),
	} {
		for _, o := range []BoxOptions{{}, {Outer: true, Points: "value"}} {
			f, err := Boxes(panels, o)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if _, err := f.PNG(50); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}

	f, err := Boxes(sampleBoxes(), BoxOptions{})
	text := svgText(t, f, err)
	for _, want := range []string{">MAP-Elites<", ">DADS+REWARD<", ">quartiles<", ">median<",
		">ant-uni<", ">no runs<"} {
		if !strings.Contains(text, want) {
			t.Errorf("the figure lacks %s", want)
		}
	}
	if strings.Contains(text, "0.125") || strings.Contains(text, ">value<") {
		t.Error("the legend names parts that are not drawn")
	}

	for want, err := range map[string]error{
		"no panels of boxes": errtest.Of(Boxes(nil, BoxOptions{})),
		"panel 0 (a)": errtest.Of(Boxes([]BoxPanel{{Title: "a", YLimits: [2]float64{1, 0}}},
			BoxOptions{})),
	} {
		errtest.Want(t, err, want)
	}
}

// The axis includes what is drawn: boxes alone, or points. A sample with a value that is not finite
// has no box.
func TestBoxRange(t *testing.T) {
	s := Sample{Values: []float64{0, 1, 2, 3, 100}}
	for _, c := range []struct {
		o         BoxOptions
		low, high float64
	}{{BoxOptions{}, 1, 3}, {BoxOptions{Outer: true}, 0.5, 51.5},
		{BoxOptions{Outer: true, Points: "value"}, 0, 100}} {
		low, high := axisRange([2]float64{}, false, 0, s.drawable(c.o))
		if low != c.low || high != c.high {
			t.Errorf("%+v: %g to %g, want %g to %g", c.o, low, high, c.low, c.high)
		}
	}
	s.Values[4] = math.NaN()
	if got := s.drawable(BoxOptions{}); got != nil {
		t.Errorf("a sample with NaN has a box over %v", got)
	}
	if got := s.drawable(BoxOptions{Points: "value"}); len(got) != 1 || len(got[0]) != 4 {
		t.Errorf("its points are %v", got)
	}
}

// The bar at the median is complete even where a point lies on it.
func TestMedianLiesOverPoints(t *testing.T) {
	panel := BoxPanel{YLimits: [2]float64{0, 2},
		Groups: []BoxGroup{{Samples: []Sample{{"map-elites", []float64{1, 1, 1, 1, 1, 1, 1}}}}}}
	count := func(o BoxOptions) (n int) {
		f := must.Get(Boxes([]BoxPanel{panel}, o))
		data := must.Get(f.png(150))
		img := decode(t, data)
		for y := range img.Bounds().Dy() * 2 / 3 { // above the legend
			for x := range img.Bounds().Dx() {
				if color.NRGBAModel.Convert(img.At(x, y)) == ink {
					n++
				}
			}
		}
		return n
	}
	bare, covered := count(BoxOptions{}), count(BoxOptions{Points: "value"})
	if covered < bare*9/10 {
		t.Errorf("%d dark pixels without points and %d with them", bare, covered)
	}
}
