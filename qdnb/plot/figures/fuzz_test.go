package figures

import (
	"encoding/binary"
	"math"
	"testing"

	"example.com/qdnb/internal/hostile"
)

// FuzzNumbers draws arbitrary numbers as curves, a repertoire and trajectories.
func FuzzNumbers(f *testing.F) {
	seed := func(values ...float64) {
		var data []byte
		for _, v := range values {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		f.Add(data)
	}
	inf := math.Inf(1)
	seed(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	seed(1e308, -1e308, 1e-308, inf, -inf, math.NaN(), 5e-324, 0, 1.7e308, -1.7e308)
	seed(-1.7e308, -1.7e308, 1.7e308, 1.7e308, -1.7e308, 1.7e308, 1, 1)
	seed(1e15, 1e15, 1e15+0.125, 1e15+0.125, 1e15, 1e15)
	f.Fuzz(func(t *testing.T, data []byte) {
		var x []float64
		for ; len(data) >= 8 && len(x) < 40; data = data[8:] {
			x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		if len(x) < 6 {
			return
		}
		var points [][2]float64
		for i := 4; i+1 < len(x); i += 2 {
			points = append(points, [2]float64{x[i], x[i+1]})
		}
		lower, upper := [2]float64{x[0], x[1]}, [2]float64{x[2], x[3]}
		draw := func(panel *Panel, err error) {
			var figure *Figure
			if err == nil {
				figure, err = panel.Figure()
			}
			if err == nil {
				_, err = figure.PNG(20)
			}
			hostile.Error(t, err)
		}
		hostile.Bounded(t, 64<<10, func() {
			n := len(points)
			draw(Map(Cells{Lower: lower, Upper: upper, Centroids: points, Descriptors: points, Fitness: x[:n]}))
			draw(Trajectories(Arena{Lower: lower, Upper: upper, Paths: []Path{{X: x, Y: x}}}))
			for _, logX := range []bool{false, true} {
				draw(Lines(Axes{LogX: logX}, Series{Name: "a", X: x, Y: x},
					Series{Name: "b", X: x[1:], Y: x[:len(x)-1]}))
			}
		})
	})
}
