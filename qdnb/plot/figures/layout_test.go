package figures

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"example.com/qdnb/internal/must"
)

// Data areas are where the layout puts them, however long the labels of the axes are.
func TestLongLabelsLeaveTheDataInPlace(t *testing.T) {
	for _, size := range []vg.Point{{X: 24, Y: 24}, {X: 85, Y: 85}, {X: 230, Y: 120}} {
		for n := 1; n < 150; n += 5 {
			for _, letters := range []string{"ab ", "abcdefgh ", "m"} {
				text := strings.Repeat(letters, 1+n/len(letters))
				one := Panel{XLabel: text, YLabel: text}
				k := must.Get(keyOf([][]Panel{{one}}))
				l := &layout{panels: [][]*panel{{one.panel(k)}}}
				l.weigh()
				p := l.panels[0][0]
				p.fitLabels(size)
				c := draw.NewCanvas(new(recorder.Canvas), 1000, 1000)
				area := vg.Rectangle{Min: vg.Point{X: 300, Y: 300}, Max: vg.Point{X: 300, Y: 300}.Add(size)}
				got := p.plot.DataCanvas(p.around(c, area))
				for _, off := range []vg.Point{got.Min.Sub(area.Min), got.Max.Sub(area.Max)} {
					if !(math.Hypot(float64(off.X), float64(off.Y)) < 1) {
						t.Fatalf("labels %q: the data area is %v, not %v", text, got.Rectangle, area)
					}
				}
			}
		}
	}
}
