package runs

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/pareto"
)

// Repertoire is the host copy of a repertoire: the best solution found for each cell of descriptor
// space. An empty cell has fitness -Inf; its other values are meaningless.
type Repertoire struct {
	Params int // parameters per genotype
	Dims   int // descriptor dimensions
	// Genotypes are [cells, params] or, without the rows of empty cells, [filled, params] in the order
	// of Filled; nil if not read.
	Genotypes   []float32
	Fitnesses   []float32 // [cells]
	Descriptors []float32 // [cells, dims]
	Centroids   []float32 // [cells, dims]
	// Origins are the generation and the number of each cell's individual, [cells, 2]: what drew the
	// initial state of its evaluation. -1 where unknown; nil if the file has none.
	Origins []int32
	// Objectives are the returns by objective of the Pareto front in each cell, [cells, front,
	// objectives], -Inf where a front is shorter; without data unless the archive holds fronts.
	Objectives npz.Array
	// Reference is the return of each objective from which hypervolumes are measured; nil without
	// Objectives and in checkpoints.
	Reference    []float32
	Lower, Upper []float32 // [dims], descriptor limits; nil in files of other programs
	// Offset is added to each fitness in the QD score: minus the lowest expected fitness, so that
	// filling a cell never lowers the score.
	Offset float64
}

// Stats are the metrics by which repertoires are compared.
type Stats struct {
	MaxFitness float64 // -Inf if all cells are empty
	Coverage   float64 // filled cells, per cent
	QDScore    float64 // sum over filled cells of fitness + Offset
	Filled     int
	Cells      int
}

// KeepFittest reduces an archive with several slots per cell to the fittest solution of each, the
// first one on ties.
func (r *Repertoire) KeepFittest(cells int) {
	slots := r.Cells() / max(1, cells)
	if shape := r.Objectives.Shape; len(shape) == 2 {
		r.Objectives.Shape = []int{cells, slots, shape[1]}
	}
	if slots < 2 {
		return
	}
	best := make([]int, cells)
	for cell := range best {
		best[cell] = cell * slots
		for slot := range slots {
			if i := cell*slots + slot; r.Fitnesses[i] > r.Fitnesses[best[cell]] {
				best[cell] = i
			}
		}
	}
	r.Fitnesses = pick(r.Fitnesses, 1, best)
	r.Descriptors = pick(r.Descriptors, r.Dims, best)
	if r.Genotypes != nil {
		r.Genotypes = pick(r.Genotypes, r.Params, best)
	}
	if r.Origins != nil {
		r.Origins = pick(r.Origins, 2, best)
	}
}

// Fronts returns the returns by objective of the solutions in each cell; nil without Objectives.
func (r *Repertoire) Fronts() (fronts [][][]float64) {
	if flat, ok := r.Objectives.Data.([]float32); ok {
		fronts = slices.Collect(pareto.Fronts(flat, r.Objectives.Shape[1], r.Objectives.Shape[2]))
	}
	return fronts
}

// ReferencePoint returns Reference in float64.
func (r *Repertoire) ReferencePoint() []float64 { return lists.Convert[float64](r.Reference) }

// Cells returns the number of cells, filled or not.
func (r *Repertoire) Cells() int { return len(r.Fitnesses) }

// filled reports whether a cell holds a solution; a NaN fitness does not count.
func (r *Repertoire) filled(cell int) bool { return r.Fitnesses[cell] > float32(math.Inf(-1)) }

// Stats computes the metrics in float64, cell by cell.
func (r *Repertoire) Stats() Stats {
	s := Stats{MaxFitness: math.Inf(-1), Cells: r.Cells()}
	for cell, fitness := range r.Fitnesses {
		if r.filled(cell) {
			s.Filled++
			s.MaxFitness = max(s.MaxFitness, float64(fitness))
			s.QDScore += float64(fitness)
		}
	}
	s.QDScore += r.Offset * float64(s.Filled)
	if s.Cells > 0 {
		s.Coverage = 100 * float64(s.Filled) / float64(s.Cells)
	}
	return s
}

// Filled returns the indices of the filled cells.
func (r *Repertoire) Filled() []int {
	cells := []int{}
	for cell := range r.Fitnesses {
		if r.filled(cell) {
			cells = append(cells, cell)
		}
	}
	return cells
}

// Best returns the cell with the highest fitness, the first one on ties; -1 if all are empty.
func (r *Repertoire) Best() int {
	best := -1
	for cell, fitness := range r.Fitnesses {
		if r.filled(cell) && (best < 0 || fitness > r.Fitnesses[best]) {
			best = cell
		}
	}
	return best
}

// Near returns the filled cell whose solution has the descriptor nearest to the given one; -1 if
// all are empty.
func (r *Repertoire) Near(descriptor ...float32) int {
	best, least := -1, float32(math.Inf(1))
	from := r.distances()
	for _, cell := range r.Filled() {
		if distance := from(r.Descriptor(cell), descriptor); distance < least {
			best, least = cell, distance
		}
	}
	return best
}

// Reinsert returns the repertoire of other evaluations of the same solutions: fitnesses [filled]
// and descriptors [filled, dims] in the order of Filled, inserted into empty cells. A solution
// enters the cell of the nearest centroid if it is fitter than those before it; solutions with a
// NaN or infinite number do not enter. The result has no genotypes.
func (r *Repertoire) Reinsert(fitnesses, descriptors []float32) (*Repertoire, error) {
	if n := len(r.Filled()); len(fitnesses) != n || len(descriptors) != n*r.Dims {
		return nil, fmt.Errorf("%d fitnesses and %d numbers of descriptors do not fit %d solutions with "+
			"%d dimensions", len(fitnesses), len(descriptors), n, r.Dims)
	}
	after := *r
	after.Genotypes, after.Origins = nil, nil
	after.Objectives, after.Reference = npz.Array{}, nil
	after.Fitnesses = slices.Repeat([]float32{float32(math.Inf(-1))}, r.Cells())
	after.Descriptors = make([]float32, len(r.Descriptors))
	for i, fitness := range fitnesses {
		descriptor := descriptors[i*r.Dims : (i+1)*r.Dims]
		sum := fitness
		for _, x := range descriptor {
			sum += x
		}
		if math.IsNaN(float64(sum)) || math.IsInf(float64(sum), 0) {
			continue
		}
		if cell := r.cellOf(descriptor); fitness > after.Fitnesses[cell] {
			after.Fitnesses[cell] = fitness
			copy(after.Descriptor(cell), descriptor)
		}
	}
	return &after, nil
}

// cellOf returns the cell whose centroid is nearest to a descriptor, the first one on ties.
func (r *Repertoire) cellOf(descriptor []float32) int {
	best, least := 0, float32(math.Inf(1))
	from := r.distances()
	for cell := range r.Fitnesses {
		if distance := from(r.Centroid(cell), descriptor); distance < least {
			best, least = cell, distance
		}
	}
	return best
}

// distances returns a function for the squared distance of two descriptors as archives compute it, see
// [limits.Scale], in the components that both have.
func (r *Repertoire) distances() func(a, b []float32) float32 {
	scale := limits.Scale(r.Lower, r.Upper)
	return func(a, b []float32) (sum float32) {
		for k := range min(len(a), len(b)) {
			x, y := a[k], b[k]
			if scale != nil {
				x, y = x*scale[k], y*scale[k]
			}
			sum += (x - y) * (x - y)
		}
		return sum
	}
}

// Genotype returns the genotype in a cell, [params], not copied; nil if genotypes were not read.
// For an empty cell it is nil or meaningless.
func (r *Repertoire) Genotype(cell int) []float32 { return r.Rows()[cell] }

// Rows returns the genotype of each cell; see Genotype.
func (r *Repertoire) Rows() [][]float32 {
	rows, rest, packed := make([][]float32, r.Cells()), r.Genotypes, r.packed()
	for cell := range rows {
		if rest != nil && (!packed || r.filled(cell)) {
			rows[cell], rest = rest[:r.Params:r.Params], rest[r.Params:]
		}
	}
	return rows
}

// packed reports whether Genotypes lacks the rows of empty cells.
func (r *Repertoire) packed() bool {
	return r.Genotypes != nil && len(r.Genotypes) != r.Cells()*r.Params
}

// AllGenotypes returns the genotypes of all cells, [cells, params]; those of empty cells are zero
// or meaningless.
func (r *Repertoire) AllGenotypes() []float32 {
	if !r.packed() {
		return r.Genotypes
	}
	all := make([]float32, r.Cells()*r.Params)
	for cell, genotype := range r.Rows() {
		copy(all[cell*r.Params:], genotype)
	}
	return all
}

// filledGenotypes returns the genotypes of the given cells, which are the filled ones.
func (r *Repertoire) filledGenotypes(cells []int) []float32 {
	if len(cells) == r.Cells() || r.packed() {
		return r.Genotypes
	}
	return pick(r.Genotypes, r.Params, cells)
}

// Descriptor returns the descriptor of a cell's solution, [dims], not copied.
func (r *Repertoire) Descriptor(cell int) []float32 {
	return r.Descriptors[cell*r.Dims : (cell+1)*r.Dims]
}

// Centroid returns the centre of a cell, [dims], not copied.
func (r *Repertoire) Centroid(cell int) []float32 {
	return r.Centroids[cell*r.Dims : (cell+1)*r.Dims]
}

// Names of the arrays in repertoire.npz.
const (
	genotypesKey, fitnessesKey, descriptorsKey, centroidsKey = "genotypes", "fitnesses", "descriptors",
		"centroids"
	lowerKey, upperKey, offsetKey = "descriptor_min", "descriptor_max", "qd_offset"
	originsKey, objectivesKey     = "origins", "objectives"
	referenceKey                  = "reference_point"
	// cellsKey are the cells of the rows of genotypes: the filled ones.
	cellsKey = "genotype_cells"
)

// Size limits: a file that exceeds them is damaged rather than large. An array without rows can
// claim any width.
const (
	maxDims   = 1 << 14
	maxParams = 1 << 28
)

// parts are the arrays of the repertoire but genotypes and objectives.
func (r *Repertoire) parts(centroids int) []part {
	cells, objectives := r.Cells(), 0
	if shape := r.Objectives.Shape; len(shape) > 0 {
		objectives = shape[len(shape)-1]
	}
	return []part{
		list(fitnessesKey, &r.Fitnesses, cells), list(descriptorsKey, &r.Descriptors, cells, r.Dims),
		list(centroidsKey, &r.Centroids, centroids, r.Dims),
		optional(list(lowerKey, &r.Lower, r.Dims)), optional(list(upperKey, &r.Upper, r.Dims)),
		optional(list(originsKey, &r.Origins, cells, 2)),
		optional(list(referenceKey, &r.Reference, objectives)), optional(number(offsetKey, &r.Offset)),
	}
}

func (r *Repertoire) check() error {
	if err := checkParts(r.parts(r.Cells())...); err != nil {
		return err
	}
	if n := len(r.Genotypes); r.packed() && n != len(r.Filled())*r.Params {
		return fmt.Errorf("genotypes has %d numbers, not %d of %d parameters", n, r.Cells(), r.Params)
	}
	for cell, fitness := range r.Fitnesses {
		if fitness != fitness {
			return fmt.Errorf("the fitness of cell %d is NaN; an empty cell has -Inf", cell)
		}
	}
	return nil
}

func (r *Repertoire) arrays() map[string]npz.Array {
	arrays := arraysOf(r.parts(r.Cells())...)
	if r.Genotypes != nil {
		filled := r.Filled()
		arrays[genotypesKey] = npz.Of(r.filledGenotypes(filled), len(filled), r.Params)
		arrays[cellsKey] = npz.Of(filled)
	}
	if r.Objectives.Data != nil {
		arrays[objectivesKey] = r.Objectives
	}
	return arrays
}

// Write atomically writes a repertoire to an .npz file.
func (r *Repertoire) Write(path string) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return npz.Write(path, r.arrays())
}

// ReadRepertoire reads an .npz file with the arrays fitnesses [cells], descriptors and centroids
// [cells, dims], and genotypes [filled, params], whose rows are those of the filled cells, or
// [cells, params]; optionally genotype_cells [filled], descriptor_min and descriptor_max [dims] and
// qd_offset [1]. Genotypes are read only if requested; Params is always set.
func ReadRepertoire(path string, genotypes bool) (*Repertoire, error) {
	return readRepertoireFile(path, "", genotypes)
}

// readRepertoireFile reads a repertoire whose centroids may be in another file.
func readRepertoireFile(path, centroids string, genotypes bool) (*Repertoire, error) {
	return npz.ReadFile(path, func(file *npz.Reader) (*Repertoire, error) {
		shared := file
		if !file.Has(centroidsKey) && exists(centroids) {
			var err error
			if shared, err = npz.Open(centroids); err != nil {
				return nil, err
			}
			defer shared.Close()
		}
		return readRepertoire(file, shared, "", genotypes)
	})
}

// errNoGenotypes is the error of a file without genotypes when they are requested.
var errNoGenotypes = errors.New("it has no genotypes")

// readRepertoire reads arrays whose names start with a prefix; centroids may be in another file.
func readRepertoire(file, shared *npz.Reader, prefix string, genotypes bool) (*Repertoire, error) {
	r := &Repertoire{}
	if err := readParts(file, prefix, list(fitnessesKey, &r.Fitnesses, -1)); err != nil {
		return nil, err
	}
	_, dims, err := sizes(file, prefix+descriptorsKey)
	if err != nil {
		return nil, err
	}
	cells, _, err := sizes(shared, prefix+centroidsKey)
	if err != nil {
		return nil, err
	}
	if r.Dims = dims; dims > maxDims {
		return nil, fmt.Errorf("%d descriptor dimensions exceed the limit of %d", r.Dims, maxDims)
	}
	if file.Has(prefix + genotypesKey) {
		if err := r.readGenotypes(file, prefix, genotypes); err != nil {
			return nil, err
		}
	} else if genotypes {
		return nil, errNoGenotypes
	}
	if file.Has(prefix + objectivesKey) {
		if r.Objectives, err = file.Read(prefix + objectivesKey); err != nil {
			return nil, err
		}
		shape := r.Objectives.Shape
		if _, ok := r.Objectives.Data.([]float32); !ok || len(shape) < 2 || len(shape) > 3 ||
			shape[0] != r.Cells() || slices.Contains(shape, 0) {
			return nil, fmt.Errorf("%s has shape %v, not [%d, ..., objectives]", objectivesKey, shape, r.Cells())
		}
	}
	for _, p := range r.parts(cells) {
		from := file
		if p.name == centroidsKey {
			from = shared
		}
		if err := readParts(from, prefix, p); err != nil {
			return nil, err
		}
	}
	if shape := r.Objectives.Shape; len(shape) == 2 { // of a checkpoint: a row for each slot
		if cells == 0 || r.Cells()%cells != 0 || r.packed() {
			return nil, fmt.Errorf("%s has shape %v, %d cells and %d centroids do not fit", objectivesKey, shape, r.Cells(), cells)
		}
		r.KeepFittest(cells)
	}
	return r, r.check()
}

func (r *Repertoire) readGenotypes(file *npz.Reader, prefix string, genotypes bool) error {
	rows, params, err := sizes(file, prefix+genotypesKey)
	if err != nil {
		return err
	}
	filled := r.Filled()
	if rows != r.Cells() && rows != len(filled) || params > maxParams {
		return fmt.Errorf("genotypes has shape [%d %d], not [%d, parameters] or, of the filled cells, "+
			"[%d, parameters], with at most %d parameters", rows, params, r.Cells(), len(filled), maxParams)
	}
	var cells []int
	if err := readParts(file, prefix, optional(list(cellsKey, &cells, -1))); err != nil {
		return err
	}
	if cells != nil && (!slices.Equal(cells, filled) || rows != len(filled)) {
		return fmt.Errorf("%s are not the cells with a fitness", cellsKey)
	}
	if r.Params = params; !genotypes {
		return nil
	}
	return readParts(file, prefix, list(genotypesKey, &r.Genotypes, rows, params))
}
