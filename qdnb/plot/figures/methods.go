package figures

import (
	"cmp"
	"hash/fnv"
	"image/color"
	"math"
	"regexp"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/qdnb/algorithms/records"
)

// Style is the printed name and line style of a method, the same in every figure.
type Style struct {
	Name   string
	Color  color.NRGBA
	Dashes []vg.Length // nil: solid
}

func (s Style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.Color, Width: 1.3, Dashes: s.Dashes}
}

func (s Style) band() color.NRGBA {
	s.Color.A = 0x38
	return s.Color
}

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

// extraColors are for names that are not in the paper, such as a user's variants.
var extraColors = []color.NRGBA{
	rgb(0x225522), rgb(0xdc050c), rgb(0x7b4f1d), rgb(0x8a8a8a), rgb(0xff7fd0), rgb(0x00c8c8),
	rgb(0xb8d800), rgb(0x9b4dff),
}

// extraDashes are assigned to the extra colours in turn, so that neighbours in the list, some of
// which a colour-blind reader confuses, differ in dashes. Once the colours are used up, they
// repeat with the next dashes.
var extraDashes = [][]vg.Length{{9, 2.5}, {5, 1.8, 1.2, 1.8, 1.2, 1.8}, nil}

// MethodName returns the name that the paper prints for an algorithm, or id itself if it is
// unknown.
func MethodName(id string) string {
	r, _ := records.Find(id)
	return cmp.Or(r.Title, id)
}

var words = regexp.MustCompile(`[a-z]+(-[a-z]+)*`)

// NameMethods replaces the method identifiers in a text with their names, see [MethodName].
func NameMethods(text string) string { return words.ReplaceAllStringFunc(text, MethodName) }

// SortMethods returns the distinct identifiers: first those of the paper in the paper's order, then
// the others by name.
func SortMethods(ids []string) []string {
	return slices.Compact(slices.SortedFunc(slices.Values(ids), records.Compare))
}

// MethodStyles returns a style for each identifier. The paper's algorithms always have the same
// style. Any other name gets another colour, picked by a hash of the name, so that a variant
// usually keeps its colour across figures. Up to 24 such names in one call have distinct styles.
func MethodStyles(ids ...string) map[string]Style {
	chosen := make(map[string]Style, len(ids))
	slots := len(extraColors) * len(extraDashes)
	taken := make(map[int]bool)
	for _, id := range SortMethods(ids) {
		if r, ok := records.Find(id); ok {
			style := Style{Name: r.Title, Color: rgb(r.Color)}
			for _, length := range r.Dashes {
				style.Dashes = append(style.Dashes, vg.Length(length))
			}
			chosen[id] = style
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(id))
		start := int(h.Sum32() % uint32(len(extraColors)))
		slot := start
		for k := range slots { // first the other colours, then all colours with the next dashes
			s := (start+k)%len(extraColors) + k/len(extraColors)*len(extraColors)
			if !taken[s] {
				slot = s
				break
			}
		}
		taken[slot] = true
		chosen[id] = Style{
			Name:   id,
			Color:  extraColors[slot%len(extraColors)],
			Dashes: extraDashes[(slot%len(extraColors)+slot/len(extraColors))%len(extraDashes)],
		}
	}
	return chosen
}

// The ranks of legend entries that are not 0: labels of trajectories, and before them the methods.
const labelRank = -1

// methodRank is the rank of the legend entry of a method: those of the paper come first, in its order.
func methodRank(id string) int {
	if rank := slices.Index(records.Names(), id); rank >= 0 {
		return rank - 1000
	}
	return 0
}

// skillColors are from Okabe and Ito (2008) without the yellow, which is pale on white.
var skillColors = []color.NRGBA{
	rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0xcc79a7), rgb(0xe69f00), rgb(0x56b4e9),
	rgb(0x000000),
}

// skillColor returns colour i of a list without order, in which neighbours differ: skillColors, then
// hues at the golden angle in turning lightness.
func skillColor(i int) color.NRGBA {
	if i < len(skillColors) {
		return skillColors[i]
	}
	hue, light := math.Mod(float64(i)*0.618034, 1), []float64{0.45, 0.62, 0.3}[i%3]
	channel := func(offset float64) uint8 { // of HSL with a saturation of 0.65
		k := math.Mod(offset+12*hue, 12)
		return uint8(255 * (light - 0.65*min(light, 1-light)*max(-1, min(k-3, 9-k, 1))))
	}
	return color.NRGBA{R: channel(0), G: channel(8), B: channel(4), A: 0xff}
}

func labelStyles(labels []string) map[string]Style {
	styles := map[string]Style{}
	for _, label := range labels {
		if _, known := styles[label]; !known {
			styles[label] = Style{Name: label, Color: skillColor(len(styles))}
		}
	}
	return styles
}
