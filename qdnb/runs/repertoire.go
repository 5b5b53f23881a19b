package runs

import (
	"errors"
	"fmt"
	"math"
	"slices"

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
func (r *Repertoire) ReferencePoint() (point []float64) {
	for _, x := range r.Reference {
		point = append(point, float64(x))
	}
	return point
}

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

func (r *Repertoire) countFilled() (n int) {
	for cell := range r.Fitnesses {
		if r.filled(cell) {
			n++
		}
	}
	return n
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
	best, least := -1, math.Inf(1)
	for _, cell := range r.Filled() {
		distance := 0.0
		for k, x := range r.Descriptor(cell) {
			if k < len(descriptor) {
				distance += math.Pow(float64(x-descriptor[k]), 2)
			}
		}
		if distance < least {
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
	if n := r.countFilled(); len(fitnesses) != n || len(descriptors) != n*r.Dims {
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
	for cell := range r.Fitnesses {
		var distance float32
		for k, x := range r.Centroid(cell) {
			distance += (x - descriptor[k]) * (x - descriptor[k])
		}
		if distance < least {
			best, least = cell, distance
		}
	}
	return best
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

func (r *Repertoire) check() error {
	cells, objectives := r.Cells(), 0
	if shape := r.Objectives.Shape; len(shape) > 0 {
		objectives = shape[len(shape)-1]
	}
	if r.Dims < 0 || r.Params < 0 {
		return fmt.Errorf("negative size: %d dimensions and %d parameters", r.Dims, r.Params)
	}
	for _, part := range []struct {
		name       string
		have, want int
		absent     bool
	}{
		{genotypesKey, len(r.Genotypes), cells * r.Params,
			r.Genotypes == nil || len(r.Genotypes) == r.countFilled()*r.Params},
		{descriptorsKey, len(r.Descriptors), cells * r.Dims, false},
		{centroidsKey, len(r.Centroids), cells * r.Dims, false},
		{lowerKey, len(r.Lower), r.Dims, r.Lower == nil},
		{upperKey, len(r.Upper), r.Dims, r.Upper == nil},
		{originsKey, len(r.Origins), 2 * cells, r.Origins == nil},
		{referenceKey, len(r.Reference), objectives, r.Reference == nil},
	} {
		if !part.absent && part.have != part.want {
			return fmt.Errorf("%s has %d numbers, not %d (%d cells, %d dimensions, %d parameters)",
				part.name, part.have, part.want, cells, r.Dims, r.Params)
		}
	}
	for cell, fitness := range r.Fitnesses {
		if fitness != fitness {
			return fmt.Errorf("the fitness of cell %d is NaN; an empty cell has -Inf", cell)
		}
	}
	return nil
}

// arrays returns the arrays of repertoire.npz by name.
func (r *Repertoire) arrays() map[string]npz.Array {
	cells := r.Cells()
	arrays := map[string]npz.Array{
		fitnessesKey:   npz.Of(r.Fitnesses),
		descriptorsKey: npz.Of(r.Descriptors, cells, r.Dims),
		centroidsKey:   npz.Of(r.Centroids, cells, r.Dims),
		offsetKey:      npz.Of([]float64{r.Offset}),
	}
	if r.Genotypes != nil {
		filled := r.Filled()
		arrays[genotypesKey] = npz.Of(r.filledGenotypes(filled), len(filled), r.Params)
		arrays[cellsKey] = npz.Of(int32s(filled))
	}
	if r.Origins != nil {
		arrays[originsKey] = npz.Of(r.Origins, cells, 2)
	}
	if r.Objectives.Data != nil {
		arrays[objectivesKey] = r.Objectives
	}
	if r.Reference != nil {
		arrays[referenceKey] = npz.Of(r.Reference)
	}
	if r.Lower != nil {
		arrays[lowerKey] = npz.Of(r.Lower)
	}
	if r.Upper != nil {
		arrays[upperKey] = npz.Of(r.Upper)
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

func int32s(indices []int) []int32 {
	out := make([]int32, len(indices))
	for i, x := range indices {
		out[i] = int32(x)
	}
	return out
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
	file, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	shared := file
	if !file.Has(centroidsKey) && exists(centroids) {
		if shared, err = npz.Open(centroids); err != nil {
			return nil, err
		}
		defer shared.Close()
	}
	r, err := readRepertoire(file, shared, "", genotypes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// errNoGenotypes is the error of a file without genotypes when they are requested.
var errNoGenotypes = errors.New("it has no genotypes")

// readRepertoire reads the arrays of a repertoire, whose names start with a prefix. The centroids may
// be in another file.
func readRepertoire(file, shared *npz.Reader, prefix string, genotypes bool) (*Repertoire, error) {
	r := &Repertoire{}
	var err error
	if r.Fitnesses, _, err = floats(file, prefix+fitnessesKey, 1); err != nil {
		return nil, err
	}
	var shape []int
	if r.Descriptors, shape, err = floats(file, prefix+descriptorsKey, 2); err != nil {
		return nil, err
	}
	r.Dims = shape[1]
	if r.Centroids, shape, err = floats(shared, prefix+centroidsKey, 2); err != nil {
		return nil, err
	}
	cells := shape[0]
	if shape[1] != r.Dims {
		return nil, fmt.Errorf("centroids has %d dimensions, descriptors %d", shape[1], r.Dims)
	}
	if r.Dims > maxDims {
		return nil, fmt.Errorf("%d descriptor dimensions exceed the limit of %d", r.Dims, maxDims)
	}
	if file.Has(prefix + genotypesKey) {
		if _, shape, err = file.Header(prefix + genotypesKey); err != nil {
			return nil, err
		}
		filled := r.Filled()
		if len(shape) != 2 || shape[0] != r.Cells() && shape[0] != len(filled) {
			return nil, fmt.Errorf("genotypes has shape %v, not [%d, parameters] or, of the filled cells, "+
				"[%d, parameters]", shape, r.Cells(), len(filled))
		}
		if file.Has(prefix + cellsKey) {
			cells, err := integers(file, prefix+cellsKey)
			if err != nil {
				return nil, err
			}
			if !slices.Equal(cells, filled) || shape[0] != len(filled) {
				return nil, fmt.Errorf("%s are not the cells with a fitness", cellsKey)
			}
		}
		if r.Params = shape[1]; r.Params > maxParams {
			return nil, fmt.Errorf("%d parameters per genotype exceed the limit of %d", r.Params, maxParams)
		}
	} else if genotypes {
		return nil, errNoGenotypes
	}
	if genotypes {
		if r.Genotypes, _, err = floats(file, prefix+genotypesKey, 2); err != nil {
			return nil, err
		}
	}
	if file.Has(prefix + objectivesKey) {
		if r.Objectives, err = file.Read(prefix + objectivesKey); err != nil {
			return nil, err
		}
		shape := r.Objectives.Shape
		if _, ok := r.Objectives.Data.([]float32); !ok || len(shape) < 2 || len(shape) > 3 ||
			shape[0] != r.Cells() || slices.Contains(shape, 0) {
			return nil, fmt.Errorf("%s has shape %v, not [%d, ..., objectives]", objectivesKey, shape,
				r.Cells())
		}
	}
	for key, limits := range map[string]*[]float32{lowerKey: &r.Lower, upperKey: &r.Upper,
		referenceKey: &r.Reference} {
		if file.Has(key) {
			if *limits, _, err = floats(file, key, 1); err != nil {
				return nil, err
			}
		}
	}
	if file.Has(prefix + originsKey) {
		a, err := file.Read(prefix + originsKey)
		if err == nil {
			r.Origins, err = a.Int32s()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", originsKey, err)
		}
	}
	if file.Has(offsetKey) {
		offset, err := number(file, offsetKey)
		if err != nil {
			return nil, err
		}
		r.Offset = offset
	}
	if shape := r.Objectives.Shape; len(shape) == 2 { // of a checkpoint: a row for each slot
		sized := len(r.Descriptors) == r.Cells()*r.Dims &&
			(r.Origins == nil || len(r.Origins) == 2*r.Cells())
		if cells == 0 || r.Cells()%cells != 0 || !sized || r.packed() {
			return nil, fmt.Errorf("%s has shape %v, %d cells and %d centroids do not fit", objectivesKey,
				shape, r.Cells(), cells)
		}
		r.KeepFittest(cells)
	}
	return r, r.check()
}

// floats reads an array with the given number of axes.
func floats(file *npz.Reader, name string, axes int) ([]float32, []int, error) {
	a, err := file.Read(name)
	if err != nil {
		return nil, nil, err
	}
	if len(a.Shape) != axes {
		return nil, nil, fmt.Errorf("%s has shape %v, not %d axes", name, a.Shape, axes)
	}
	data, err := a.Float32s()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, a.Shape, nil
}

func number(file *npz.Reader, name string) (float64, error) {
	data, err := numbers(file, name, 1)
	if err != nil {
		return 0, err
	}
	return data[0], nil
}

// numbers reads an array of n numbers.
func numbers(file *npz.Reader, name string, n int) ([]float64, error) {
	a, err := file.Read(name)
	if err != nil {
		return nil, err
	}
	data, err := a.Float64s()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) != n {
		return nil, fmt.Errorf("%s has shape %v, want %d numbers", name, a.Shape, n)
	}
	return data, nil
}
