package viewer

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

// The data that src/main.js reads. Names are short because there may be a thousand cells.
type (
	index struct {
		Title   string      `json:"title"`
		What    string      `json:"what"`
		Names   []string    `json:"names"`
		First   int         `json:"first"`  // entry
		Folder  string      `json:"folder"` // of the films; "": the page contains them
		Entries []indexed   `json:"entries"`
		Films   []filmed    `json:"films"`
		Sets    []set       `json:"sets"`
		Map     *mapped     `json:"map"`
		Palette string      `json:"palette"` // 256 colours, rrggbb each
		Range   *[2]float64 `json:"range"`   // fitness at the ends of the palette
	}
	indexed struct {
		Number     int       `json:"n"`
		Fitness    *float32  `json:"f"`
		Descriptor []float32 `json:"d,omitempty"`
		Film       int       `json:"m"` // -1: none
		Polygon    []float64 `json:"p,omitempty"`
	}
	filmed struct {
		Title    string       `json:"title"`
		Subtitle string       `json:"subtitle"`
		Set      int          `json:"set"`
		Bodies   int          `json:"bodies"` // that move
		Frames   int          `json:"frames"`
		Seconds  float64      `json:"seconds"` // between frames
		Follow   int          `json:"follow"`
		Origin   scene.Vec    `json:"origin"`
		Step     float64      `json:"step"`     // metres per position unit
		Turn     float64      `json:"turn"`     // quantisation step of rotation components
		Reward   float64      `json:"reward"`   // per unit of the cumulative reward; 0 if rewards are unknown
		Extent   [2]scene.Vec `json:"extent"`   // of the origins of moving bodies
		Standing bool         `json:"standing"` // nothing moves along y

		// The outcome, as in an entry; null if unknown.
		Fitness    *float32  `json:"f"`
		Descriptor []float32 `json:"d,omitempty"`
		Archived   bool      `json:"archived"`
	}
	set struct {
		Ground bool   `json:"ground"`
		Bodies []body `json:"bodies"`
	}
	body struct {
		Name   string  `json:"name"`
		Fixed  bool    `json:"fixed"`
		At     vec     `json:"at"`
		Turned quat    `json:"turned"`
		Shapes []shape `json:"shapes"`
	}
	shape struct {
		Box     bool    `json:"box"`
		A       vec     `json:"a"`
		B       vec     `json:"b"`
		Radius  float64 `json:"r"`
		Color   string  `json:"c"`
		Opacity float64 `json:"o"`
	}
	mapped struct {
		Lower, Upper [2]float64
		Ticks        [2][]tick
		Label        string // of the colour bar
		Bar          []tick
		Beyond       [2]bool // whether some fitness is below or above the bar

		// in thousandths, as polygons: the corners of walls and of the goal, and the start
		Walls       [][]float64 `json:",omitempty"`
		Goal, Start []float64   `json:",omitempty"`
	}
	tick struct {
		At   float64 `json:"at"`
		Text string  `json:"text"`
	}
	vec  = scene.Vec
	quat = scene.Quat
)

func (p *Page) index() (*index, []string, error) {
	x := &index{Title: p.Title, What: p.what, Names: p.names, First: p.first(), Palette: palette()}
	sets := map[string]int{}
	var motions []string
	var values []float64
	for _, e := range p.entries {
		in := indexed{Number: e.Number, Film: -1}
		if finite(e.Fitness) {
			in.Fitness = float32Of(e.Fitness)
			values = append(values, e.Fitness)
		}
		in.Descriptor = allFloat32(e.Descriptor)
		if f := e.Film; f != nil {
			if err := f.Check(); err != nil {
				return nil, nil, err
			}
			film, motion, err := pack(f)
			if err != nil {
				return nil, nil, err
			}
			s := setOf(f)
			key, err := json.Marshal(s)
			if err != nil {
				return nil, nil, err
			}
			if _, ok := sets[string(key)]; !ok {
				sets[string(key)] = len(x.Sets)
				x.Sets = append(x.Sets, s)
			}
			in.Film = len(x.Films)
			film.Set = sets[string(key)]
			x.Films = append(x.Films, film)
			motions = append(motions, motion)
		}
		x.Entries = append(x.Entries, in)
	}
	if p.single {
		x.What = ""
		return x, motions, nil
	}
	bar := &figures.ColorBar{}
	if c := p.cells; c != nil && c.Bar != nil {
		bar = c.Bar
	}
	low, high, beyond := bar.Limits(values)
	if p.cells == nil && len(values) > 0 { // a list has no bar whose ends would show what lies beyond it
		low, high = slices.Min(values), slices.Max(values)
	}
	if low <= high {
		x.Range = &[2]float64{low, high}
	}
	return x, motions, p.addMap(x, beyond)
}

func (p *Page) addMap(x *index, beyond [2]bool) error {
	c := p.cells
	if c == nil {
		return nil
	}
	polygons, err := figures.Voronoi(c.Centroids, c.Lower, c.Upper)
	if err != nil {
		return err
	}
	if len(polygons) != len(x.Entries) {
		return fmt.Errorf("viewer: %d centroids for %d cells", len(polygons), len(x.Entries))
	}
	place := func(at ...float64) (places []float64) { // thousandths of the map, y up
		for i, v := range at {
			share := (v - c.Lower[i%2]) / (c.Upper[i%2] - c.Lower[i%2])
			places = append(places, math.Round(min(max(share, 0), 1)*10000)/10)
		}
		return places
	}
	for i, polygon := range polygons {
		for _, corner := range polygon {
			x.Entries[i].Polygon = append(x.Entries[i].Polygon, place(corner[:]...)...)
		}
	}
	x.Map = &mapped{Lower: c.Lower, Upper: c.Upper, Label: "fitness", Beyond: beyond}
	for _, w := range c.Walls {
		x.Map.Walls = append(x.Map.Walls, place(min(w.X0, w.X1), min(w.Y0, w.Y1), max(w.X0, w.X1), max(w.Y0, w.Y1)))
	}
	if c.Start != nil {
		x.Map.Start = place(c.Start[:]...)
	}
	if g := c.Goal; g != nil {
		x.Map.Goal = place(min(g.X0, g.X1), min(g.Y0, g.Y1), max(g.X0, g.X1), max(g.Y0, g.Y1))
	}
	for d := range 2 {
		x.Map.Ticks[d] = ticks(c.Lower[d], c.Upper[d])
	}
	if x.Range != nil {
		x.Map.Bar = ticks(x.Range[0], x.Range[1])
	}
	return nil
}

func setOf(f *scene.Film) set {
	s := set{Ground: f.Ground}
	for _, b := range f.Bodies {
		out := body{Name: b.Name, Fixed: b.Fixed, Shapes: []shape{}}
		if b.Fixed {
			out.At, out.Turned = b.Pose.Position, unit(b.Pose.Rotation)
		}
		for _, part := range b.Shapes {
			c := part.Color
			opacity := float64(c.A) / 255
			if c.A == 0 { // an unset alpha means opaque
				opacity = 1
			}
			out.Shapes = append(out.Shapes, shape{
				Box: part.Kind == scene.Box, A: part.A, B: part.B, Radius: part.Radius,
				Color: fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B), Opacity: math.Round(opacity*100) / 100,
			})
		}
		s.Bodies = append(s.Bodies, out)
	}
	return s
}

// allFloat32 returns values as float32, or nil if one of them is not finite.
func allFloat32(values []float64) []float32 {
	var all []float32
	for _, v := range values {
		if !finite(v) {
			return nil
		}
		all = append(all, float32(v))
	}
	return all
}

// float32Of returns a pointer to a finite value as float32, else nil.
func float32Of(v float64) *float32 {
	if x := float32(v); finite(float64(x)) {
		return &x
	}
	return nil
}

func ticks(low, high float64) []tick {
	return lists.Map(figures.Ticks(low, high, 6), func(t plot.Tick) tick { return tick{t.Value, t.Label} })
}

func palette() string {
	var s strings.Builder
	for i := range 256 {
		c := figures.Viridis(float64(i) / 255)
		fmt.Fprintf(&s, "%02x%02x%02x", c.R, c.G, c.B)
	}
	return s.String()
}
