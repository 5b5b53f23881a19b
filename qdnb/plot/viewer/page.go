// Package viewer makes pages that play skills in three dimensions: a single film, or a repertoire
// as an index of films.
//
//	cells, err := viewer.Cells(run) // as many as fit on a page
//	recording, err := qdnb.Play(ctx, run, qdnb.PlaySpec{Cells: cells})
//	films, err := recording.Films()
//	page, err := viewer.OfRun(run, cells, films) // a map; clicking a cell plays its film
//	...
//	err = page.Show("repertoire")
//
// A page is one self-contained HTML file that includes three.js and blocks all network access. It
// looks the same below a notebook cell, in an exported notebook and on its own.
//
// The JavaScript sources are in src. tools/viewer bundles them with three.js into bundle.js.gz, so
// that users do not need Node.js.
package viewer

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

// Page holds the contents of a page. Make one with [Skill], [Repertoire], [List] or [OfRun].
type Page struct {
	Title string // shown on the page and in the HTML head; may be empty

	entries []Entry
	what    string         // kind of entries: "cell", "skill" or another
	names   []string       // of the descriptor components
	cells   *figures.Cells // the map; nil for a list
	single  bool           // no index
}

// Entry is an item of an index.
type Entry struct {
	Number     int       // of the cell or the skill
	Fitness    float64   // NaN if unknown
	Descriptor []float64 // of the solution; nil if there is none
	Film       *scene.Film
}

// Skill returns a page with one film. The methods of a page without one return an error.
func Skill(f *scene.Film) *Page {
	p := &Page{entries: []Entry{{Film: f, Fitness: math.NaN()}}, single: true}
	if f != nil {
		p.Title = f.Title
	}
	return p
}

// Repertoire returns a page with a map of a repertoire. Pointing at a cell shows its numbers,
// selecting it plays its film. films maps cell numbers to films for some or all of the filled
// cells, which the map marks. The page starts with the film with the highest total reward.
func Repertoire(c figures.Cells, films map[int]*scene.Film) (*Page, error) {
	if len(films) == 0 {
		return nil, errors.New("viewer: a repertoire without films: want at least one")
	}
	p := &Page{Title: c.Title, what: "cell", names: []string{c.XLabel, c.YLabel}, cells: &c}
	for cell, fitness := range c.Fitness {
		e := Entry{Number: cell, Fitness: fitness, Film: films[cell]}
		if !finite(fitness) {
			e.Fitness = math.NaN()
		} else if len(c.Descriptors) > cell {
			e.Descriptor = c.Descriptors[cell][:]
		}
		if e.Film != nil && !finite(fitness) {
			return nil, fmt.Errorf("viewer: film of cell %d, which is empty", cell)
		}
		p.entries = append(p.entries, e)
	}
	for cell := range films {
		if cell < 0 || cell >= len(p.entries) {
			return nil, fmt.Errorf("viewer: film of cell %d, but the repertoire has %d cells", cell, len(p.entries))
		}
	}
	return p, nil
}

// List returns a page with a list of cells, skills or something else, as what says, and the names of the descriptor
// components. The fitness of a "cell" is headed "as archived", that of a "skill" "evaluation mean", and any other
// "expected". Entries are listed by decreasing fitness; those without a film cannot be played.
func List(title, what string, names []string, entries []Entry) (*Page, error) {
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Film != nil }) {
		return nil, errors.New("viewer: a list without films: want at least one")
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(b.Fitness, a.Fitness) }) // NaN last
	return &Page{Title: title, what: what, names: names, entries: entries}, nil
}

var errNoFilm = errors.New("viewer: a page without films: want at least one")

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// first returns the index of the film chosen as in [Best]; among equals, of the fittest entry.
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

// Best returns the film with the highest total reward, the first one among equals, or nil if there
// are no films; nil films are skipped. A skill may do worse in another episode than its stored fitness says.
func Best(films []*scene.Film) *scene.Film {
	var best *scene.Film
	for _, f := range films {
		if f != nil && (best == nil || total(f) > total(best)) {
			best = f
		}
	}
	return best
}

func total(f *scene.Film) float64 { return floats.Sum(f.Rewards) }

var (
	//go:embed src/page.html
	pageTemplate string
	//go:embed src/page.css
	pageStyle string
	//go:embed bundle.js.gz
	bundle []byte
)

// HTML returns the page as an HTML file, see [Page.Save].
func (p *Page) HTML() ([]byte, error) {
	page, _, err := p.html("")
	return page, err
}

// html returns the page, with its films or, if they are files in a folder next to it, these.
func (p *Page) html(folder string) (page []byte, films []string, err error) {
	if p.first() < 0 {
		return nil, nil, errNoFilm
	}
	x, motions, err := p.index()
	if err != nil {
		return nil, nil, err
	}
	from := ""
	if x.Folder = folder; folder != "" {
		films, motions, from = motions, nil, " 'self'"
	}
	known, err := json.Marshal(x)
	if err != nil {
		return nil, nil, fmt.Errorf("viewer: %w", err)
	}
	var out bytes.Buffer
	_, err = strings.NewReplacer(
		"{{TITLE}}", html.EscapeString(cmp.Or(p.Title, "Skills")),
		"{{STYLE}}", pageStyle,
		"{{SCRIPTS}}", from,
		"{{INDEX}}", cell.Deflated(known),
		"{{FILMS}}", strings.Join(motions, "\n"),
		"{{PROGRAM}}", base64.StdEncoding.EncodeToString(bundle),
	).WriteString(&out, pageTemplate)
	return out.Bytes(), films, err
}
