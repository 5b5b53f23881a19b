package figures

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// touchOf returns the data that the script of a figure gets.
func touchOf(t *testing.T, script string) (d touchData) {
	t.Helper()
	parts := regexp.MustCompile(`\["([^"]+)", "([^"]+)"\]`).FindStringSubmatch(script)
	if parts == nil {
		t.Fatalf("no data in %.200s", script)
	}
	packed := must.Get(base64.StdEncoding.DecodeString(parts[2]))
	must.Do(json.Unmarshal(must.Get(io.ReadAll(flate.NewReader(bytes.NewReader(packed)))), &d))
	return d
}

func valueAt(axis touchAxis, share int) float64 {
	s := float64(share) / touchSteps
	if axis.Log {
		return axis.Range[0] * math.Pow(axis.Range[1]/axis.Range[0], s)
	}
	return axis.Range[0] + s*(axis.Range[1]-axis.Range[0])
}

// A notebook gets the picture, and then a script with the values of what the picture shows.
func TestFiguresAnswerThePointer(t *testing.T) {
	curve := Series{Name: "map-elites", X: []float64{1, 10, 100, math.NaN(), 1000}, Y: []float64{-3, 0, 5, 1, 4},
		Low: []float64{-4, -1, 4, 0, 3}, High: []float64{-2, 1, 6, 2, 5}}
	p := must.Get(Lines(Axes{XLabel: "steps", YLabel: "fitness", LogX: true}, curve,
		Series{Name: "aurora", X: []float64{1, 1000}, Y: []float64{0, 1}}))
	outputs := celltest.Displayed(t, func() error { return p.Show("curves") })
	if len(outputs) != 2 || outputs[0].Data[protocol.MIMEImagePNG] == nil {
		t.Fatalf("%d outputs, want a picture and a script", len(outputs))
	}
	d := touchOf(t, outputs[1].Data[protocol.MIMETextHTML].(string))
	if len(d.Panels) != 1 || len(d.Panels[0].Marks) != 2 {
		t.Fatalf("%d panels", len(d.Panels))
	}
	panel, m := d.Panels[0], d.Panels[0].Marks[0]
	if m.Name != "MAP-Elites" || m.Color != "#"+hexOf(MethodStyles("map-elites")["map-elites"].Color) || len(m.Lines) != 2 {
		t.Fatalf("mark %+v", m)
	}
	at := 0
	for i, line := range m.Lines {
		x, y, low, high := 0, 0, 0, 0
		for k := 0; k < len(line); k += 2 {
			if math.IsNaN(curve.X[at]) {
				at++
			}
			x, y, low, high = x+line[k], y+line[k+1], low+m.Bands[i][k], high+m.Bands[i][k+1]
			if got := valueAt(panel.X, x); math.Abs(math.Log(got/curve.X[at])) > math.Log(1000)/touchSteps {
				t.Errorf("x is %g, want %g", got, curve.X[at])
			}
			for got, want := range map[int]float64{y: curve.Y[at], low: curve.Low[at], high: curve.High[at]} {
				if tolerance := (panel.Y.Range[1] - panel.Y.Range[0]) / touchSteps; math.Abs(valueAt(panel.Y, got)-want) > tolerance {
					t.Errorf("%g, want %g", valueAt(panel.Y, got), want)
				}
			}
			at++
		}
	}
	errtest.Equal(t, "points", at, len(curve.X))
}

// The places of a map are those of its frame in the picture, the nearest site of a point is that of the cell that
// contains it, and differences of values lead back to its history.
func TestMapsAnswerThePointer(t *testing.T) {
	c := sampleCells()
	c.Lower, c.Upper = [2]float64{-1, -1}, [2]float64{1, 0.2} // a square map of a rectangle
	early := make([]float64, len(c.Fitness))
	for i, f := range c.Fitness {
		if early[i] = f - 10; i%2 == 0 {
			early[i] = math.Inf(-1)
		}
	}
	c.History = []Moment{{"generation 1", early}}
	f := figureOf(Map(c))
	path := filepath.Join(t.TempDir(), "map.html")
	must.Do(f.Save(path))
	d := touchOf(t, string(must.Get(os.ReadFile(path))))
	panel, m := d.Panels[0], d.Panels[0].Map
	img, scale := must.Get(png.Decode(bytes.NewReader(must.Get(f.PNG(144))))), 2.0
	for _, corner := range [][2]float64{{panel.Area[0], panel.Area[1]}, {panel.Area[2], panel.Area[3]}} {
		darkest := uint32(0xffff)
		for dx := -1; dx <= 1; dx++ {
			r, _, _, _ := img.At(int(scale*corner[0])+dx, int(scale*(panel.Area[1]+panel.Area[3])/2)).RGBA()
			darkest = min(darkest, r)
		}
		if darkest > 0xb000 {
			t.Errorf("no frame at %v", corner)
		}
	}
	polygons := must.Get(Voronoi(c.Centroids, c.Lower, c.Upper))
	for i, polygon := range polygons {
		if polygon == nil {
			continue
		}
		var center [2]float64 // of a convex polygon
		for _, v := range polygon {
			center[0], center[1] = center[0]+v[0]/float64(len(polygon)), center[1]+v[1]/float64(len(polygon))
		}
		best, least := -1, math.Inf(1)
		for k := range c.Centroids {
			var d2 float64
			for axis, x := range center {
				share := touchSteps * (x - c.Lower[axis]) / (c.Upper[axis] - c.Lower[axis])
				d2 += math.Pow((share-float64(d.Sites[m.Sites][2*k+axis]))*m.Metric[axis], 2)
			}
			if d2 < least {
				best, least = k, d2
			}
		}
		errtest.Equal(t, fmt.Sprintf("the middle of cell %d", i), best, i)
		for time, want := range []float64{c.Fitness[i], early[i]} {
			q := m.Values[0][i]
			if time == 1 {
				q += m.Values[1][i]
			}
			got := m.Range[0] + float64(q-1)/998*(m.Range[1]-m.Range[0])
			if q == 0 != math.IsInf(want, -1) || q > 0 && math.Abs(got-want) > (m.Range[1]-m.Range[0])/998 {
				t.Errorf("cell %d is %g at time %d, want %g", i, got, time, want)
			}
		}
	}
	if got := m.Times; len(got) != 2 || got[0] != "generation 1" || got[1] != c.Title {
		t.Errorf("times %q", got)
	}
}
