package viewer

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

// Page is what a page shows. Make one with [Skill], [Repertoire], [List] or [OfRun].
type Page struct {
	Title string // of the page, and in its head; may be empty

	entries []Entry
	what    string         // an entry is: "cell" or "skill"
	names   []string       // of the descriptor's components
	cells   *figures.Cells // the map; nil for a list
	single  bool           // no index
}

// Entry is a line of an index.
type Entry struct {
	Number     int       // of the cell or the skill
	Fitness    float64   // NaN if it is not known
	Descriptor []float64 // of the solution; nil if there is none
	Film       *scene.Film
}

// Skill is a page of one film.
func Skill(f *scene.Film) *Page {
	return &Page{Title: f.Title, entries: []Entry{{Film: f, Fitness: math.NaN()}}, single: true}
}

// Repertoire is a page with a map of a repertoire. Pointing at a cell shows its numbers, choosing
// it plays its film. films are those of some or all of the filled cells, by the number of the cell;
// the map marks them. The page begins with the one in which most reward was gained.
func Repertoire(c figures.Cells, films map[int]*scene.Film) (*Page, error) {
	if len(films) == 0 {
		return nil, errors.New("viewer: a repertoire without films has nothing to play")
	}
	p := &Page{Title: c.Title, what: "cell", names: []string{c.XLabel, c.YLabel}, cells: &c}
	for cell, fitness := range c.Fitness {
		e := Entry{Number: cell, Fitness: fitness, Film: films[cell]}
		if !filled(fitness) {
			e.Fitness = math.NaN()
		} else if len(c.Descriptors) > cell {
			e.Descriptor = c.Descriptors[cell][:]
		}
		if e.Film != nil && !filled(fitness) {
			return nil, fmt.Errorf("viewer: there is a film of cell %d, which is empty", cell)
		}
		p.entries = append(p.entries, e)
	}
	for cell := range films {
		if cell < 0 || cell >= len(p.entries) {
			return nil, fmt.Errorf("viewer: there is a film of cell %d, and the repertoire has %d", cell,
				len(p.entries))
		}
	}
	return p, nil
}

// List is a page with a list of cells or skills: what is "cell" or "skill", names those of the
// descriptor's components. Entries are listed by falling fitness; those without a film cannot be
// played.
func List(title, what string, names []string, entries []Entry) (*Page, error) {
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Film != nil }) {
		return nil, errors.New("viewer: a list without films has nothing to play")
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int {
		switch { // NaN last
		case a.Fitness > b.Fitness, !math.IsNaN(a.Fitness) && math.IsNaN(b.Fitness):
			return -1
		case a.Fitness < b.Fitness, math.IsNaN(a.Fitness) && !math.IsNaN(b.Fitness):
			return 1
		}
		return 0
	})
	return &Page{Title: title, what: what, names: names, entries: entries}, nil
}

func filled(fitness float64) bool { return !math.IsNaN(fitness) && !math.IsInf(fitness, 0) }

// Films is the number of films on the page.
func (p *Page) Films() int {
	n := 0
	for _, e := range p.entries {
		if e.Film != nil {
			n++
		}
	}
	return n
}

// first is the entry that the page begins with: as of [Best], and among equals the fittest.
func (p *Page) first() int {
	best := -1
	for i, e := range p.entries {
		if e.Film == nil {
			continue
		}
		if best < 0 || total(e.Film) > total(p.entries[best].Film) ||
			total(e.Film) == total(p.entries[best].Film) && e.Fitness > p.entries[best].Fitness {
			best = i
		}
	}
	return best
}

// Best is the film in which most reward was gained, the first one of equals; nil of none. A skill
// is not as good in every episode as in the one that it is remembered for.
func Best(films []*scene.Film) *scene.Film {
	var best *scene.Film
	for _, f := range films {
		if best == nil || total(f) > total(best) {
			best = f
		}
	}
	return best
}

// total is the sum of a film's rewards.
func total(f *scene.Film) float64 {
	sum := 0.0
	for _, r := range f.Rewards {
		sum += r
	}
	return sum
}

var (
	//go:embed src/page.html
	pageTemplate string
	//go:embed src/page.css
	pageStyle string
	//go:embed bundle.js.gz
	bundle []byte
)

// HTML is the page as a file, see [Page.Save].
func (p *Page) HTML() ([]byte, error) {
	if p.first() < 0 {
		return nil, errors.New("viewer: a page without films has nothing to play")
	}
	x, motions, err := p.index()
	if err != nil {
		return nil, err
	}
	known, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("viewer: %w", err)
	}
	packedIndex, err := deflated(known)
	if err != nil {
		return nil, err
	}
	title := p.Title
	if title == "" {
		title = "Skills"
	}
	var out bytes.Buffer
	_, err = strings.NewReplacer(
		"{{TITLE}}", html.EscapeString(title),
		"{{STYLE}}", pageStyle,
		"{{INDEX}}", packedIndex,
		"{{FILMS}}", strings.Join(motions, "\n"),
		"{{PROGRAM}}", base64.StdEncoding.EncodeToString(bundle),
	).WriteString(&out, pageTemplate)
	return out.Bytes(), err
}
