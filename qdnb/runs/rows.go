package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// Genotypes are most of a run's bytes, and only some of them change between two checkpoints. Their
// rows are therefore stored apart from the checkpoints, in files that are never rewritten: those in
// the folder rows, named by a hash of their contents, and repertoire.npz. A checkpoint has the
// cell, the file, the row in the file's array "genotypes", and the SHA-256 of each row. Writing a
// checkpoint writes the rows that no file holds yet.
//
// The last checkpoint of a run refers to the rows of the final repertoire. The repertoire is
// written to the folder rows, and replaces repertoire.npz when this checkpoint is on disk, so a
// process killed in between leaves a checkpoint whose rows exist.

// A checkpoint replaces an array by two arrays with its name and these suffixes: int32 [n, 3], the
// cell, the index of the file and the row in it, and uint8 [n, 32], the SHA-256 of its bytes.
const (
	rowsSuffix = "_rows"
	sumsSuffix = "_sha256"
)

// maxArrayBytes is the largest size of an array that is made from rows.
var maxArrayBytes int64 = 1 << 38

type rowSum [sha256.Size]byte

type rowPlace struct {
	file string
	row  int
}

// rowFiles is what a writer knows about the files of rows.
type rowFiles struct {
	places map[rowSum]rowPlace // the rows of the newest checkpoint
	sizes  map[string]int      // number of rows of these files
	staged *stagedRows         // nil until the final repertoire is written
}

// stagedRows is the final repertoire before the last checkpoint.
type stagedRows struct {
	file   string
	places map[rowSum]rowPlace
}

const (
	plainRows, repertoireRows = "rows-", "repertoire-"
	hashLength                = 16
)

// rowsName matches the names of files in the folder rows.
var rowsName = regexp.MustCompile(fmt.Sprintf(`^(%s|%s)[0-9a-f]{%d}\.npz$`, plainRows,
	repertoireRows, hashLength))

// rowsFileName returns the name of the file with the given rows.
func rowsFileName(prefix string, sums []rowSum) string {
	all := sha256.New()
	for _, sum := range sums {
		all.Write(sum[:])
	}
	return prefix + hex.EncodeToString(all.Sum(nil))[:hashLength] + ".npz"
}

func pick[T any](flat []T, width int, rows []int) []T {
	out := make([]T, len(rows)*width)
	for i, row := range rows {
		copy(out[i*width:(i+1)*width], flat[row*width:])
	}
	return out
}

// rowSums returns the SHA-256 of rows of a matrix. All cores share the work.
func rowSums(flat []float32, width int, rows []int) []rowSum {
	sums := make([]rowSum, len(rows))
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(rows); i += workers {
				row := flat[rows[i]*width : (rows[i]+1)*width]
				sums[i] = sha256.Sum256(npz.Of(row).Bytes())
			}
		})
	}
	group.Wait()
	return sums
}

// rowArray is an array of which a checkpoint stores rows.
type rowArray struct {
	name  string
	shape []int
	flat  []float32
	cells []int // rows that are stored
	sums  []rowSum
}

// rowArrays selects the genotypes of repertoires, and their filled cells.
func rowArrays(arrays map[string]npz.Array) (all []rowArray) {
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		prefix, ok := strings.CutSuffix(name, genotypesKey)
		flat, floats := arrays[name].Data.([]float32)
		fitnesses, known := arrays[prefix+fitnessesKey].Data.([]float32)
		shape := arrays[name].Shape
		if !ok || !floats || !known || len(shape) != 2 || shape[0] != len(fitnesses) {
			continue
		}
		cells := (&Repertoire{Fitnesses: fitnesses}).Filled()
		all = append(all, rowArray{name, shape, flat, cells, rowSums(flat, shape[1], cells)})
	}
	return all
}

// saveRows writes the rows of arrays that are in no file, and replaces the arrays by references. It
// returns the files of the checkpoint.
func (w *Writer) saveRows(arrays map[string]npz.Array, about *checkpointMeta) (rowFiles, error) {
	parts := rowArrays(arrays)
	have := w.reusable(parts)
	next := rowFiles{places: map[rowSum]rowPlace{}, sizes: maps.Clone(w.rows.sizes)}
	if next.sizes == nil {
		next.sizes = map[string]int{}
	}
	for _, part := range parts {
		for _, suffix := range []string{rowsSuffix, sumsSuffix} {
			if _, taken := arrays[part.name+suffix]; taken {
				return next, fmt.Errorf("the array name %q is reserved", part.name+suffix)
			}
		}
		if err := w.saveNew(part, have, &next); err != nil {
			return next, err
		}
		refer(arrays, part, next.places, about)
	}
	return next, nil
}

// reusable returns the rows of existing files to which the next checkpoint refers. A file of which
// less than half of the rows are needed is written again without the others. The last checkpoint
// refers to the repertoire alone, so that each row of a finished run is stored once.
func (w *Writer) reusable(parts []rowArray) map[rowSum]rowPlace {
	if w.rows.staged != nil {
		return w.rows.staged.places
	}
	needed, seen := map[string]int{}, map[rowSum]bool{}
	for _, part := range parts {
		for _, sum := range part.sums {
			if place, ok := w.rows.places[sum]; ok && !seen[sum] {
				seen[sum] = true
				needed[place.file]++
			}
		}
	}
	have := map[rowSum]rowPlace{}
	for sum, place := range w.rows.places {
		if 2*needed[place.file] >= w.rows.sizes[place.file] {
			have[sum] = place
		}
	}
	return have
}

// saveNew finds the rows of an array in files, and writes the others to a new file.
func (w *Writer) saveNew(part rowArray, have map[rowSum]rowPlace, next *rowFiles) error {
	var rows []int
	var sums []rowSum
	for i, sum := range part.sums {
		if _, ok := next.places[sum]; ok {
			continue
		}
		place, ok := have[sum]
		if !ok {
			place.row = len(rows)
			rows, sums = append(rows, part.cells[i]), append(sums, sum)
		}
		next.places[sum] = place
	}
	if len(rows) == 0 {
		return nil
	}
	file := rowsFileName(plainRows, sums)
	flat, width := part.flat, part.shape[1]
	if len(rows) != part.shape[0] {
		flat = pick(flat, width, rows)
	}
	if err := w.saveRowsFile(file, map[string]npz.Array{
		genotypesKey: npz.Of(flat, len(rows), width)}); err != nil {
		return err
	}
	for row, sum := range sums {
		next.places[sum] = rowPlace{file, row}
	}
	next.sizes[file] = len(rows)
	return nil
}

func (w *Writer) saveRowsFile(file string, arrays map[string]npz.Array) error {
	dir := filepath.Join(w.Dir, rowsDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return npz.Write(filepath.Join(dir, file), arrays)
}

// refer replaces an array of a checkpoint by references to its rows.
func refer(arrays map[string]npz.Array, part rowArray, places map[rowSum]rowPlace,
	about *checkpointMeta) {
	rows := make([]int32, 0, 3*len(part.cells))
	sums := make([]uint8, 0, sha256.Size*len(part.cells))
	for i, cell := range part.cells {
		place := places[part.sums[i]]
		file := slices.Index(about.Files, place.file)
		if file < 0 {
			file = len(about.Files)
			about.Files = append(about.Files, place.file)
		}
		rows = append(rows, int32(cell), int32(file), int32(place.row))
		sums = append(sums, part.sums[i][:]...)
	}
	delete(arrays, part.name)
	arrays[part.name+rowsSuffix] = npz.Of(rows, len(part.cells), 3)
	arrays[part.name+sumsSuffix] = npz.Of(sums, len(part.cells), sha256.Size)
	if about.Shapes == nil {
		about.Shapes = map[string][]int{}
	}
	about.Shapes[part.name] = part.shape
}

// loadRows replaces the references of a checkpoint by the arrays.
func (w *Writer) loadRows(arrays map[string]npz.Array, about checkpointMeta) (rowFiles, error) {
	files := rowFiles{places: map[rowSum]rowPlace{}, sizes: map[string]int{}}
	parts := map[string]*reference{}
	for _, name := range slices.Sorted(maps.Keys(about.Shapes)) {
		part, err := dereference(arrays, name, about)
		if err != nil {
			return files, err
		}
		parts[name] = part
	}
	for i, file := range about.Files {
		rows, err := w.readRowsFile(file)
		if err != nil {
			return files, err
		}
		files.sizes[file] = rows.Shape[0]
		for _, part := range parts {
			if err := part.fill(i, rows); err != nil {
				return files, fmt.Errorf("%s: %w", w.rowsPath(file), err)
			}
		}
	}
	for name, part := range parts {
		for i, sum := range rowSums(part.flat, part.shape[1], part.cells) {
			if sum != part.sums[i] {
				return files, fmt.Errorf("%s: the sha256 of row %d differs",
					w.rowsPath(about.Files[part.file[i]]), part.row[i])
			}
			files.places[sum] = rowPlace{about.Files[part.file[i]], part.row[i]}
		}
		delete(arrays, name+rowsSuffix)
		delete(arrays, name+sumsSuffix)
		arrays[name] = npz.Of(part.flat, part.shape...)
	}
	return files, nil
}

// reference is a rowArray whose rows are in files.
type reference struct {
	rowArray
	file, row []int // of each cell
}

// dereference reads the references to the rows of an array and makes the array, without its rows.
func dereference(arrays map[string]npz.Array, name string, about checkpointMeta) (*reference,
	error) {
	places, err := arrays[name+rowsSuffix].Int32s()
	sums, ok := arrays[name+sumsSuffix].Data.([]uint8)
	n := len(places) / 3
	if err != nil || !ok || len(places) != 3*n || len(sums) != sha256.Size*n {
		return nil, fmt.Errorf("its references to rows of %q are invalid", name)
	}
	shape := about.Shapes[name]
	if len(shape) != 2 || shape[0] < n || shape[1] < 0 || shape[1] > maxParams ||
		int64(shape[0]) > maxArrayBytes/4/int64(max(1, shape[1])) {
		return nil, fmt.Errorf("shape %v of %q is invalid", shape, name)
	}
	part := &reference{rowArray: rowArray{name: name, shape: shape}}
	for i := range n {
		cell, file, row := int(places[3*i]), int(places[3*i+1]), int(places[3*i+2])
		if cell < 0 || cell >= shape[0] || i > 0 && cell <= part.cells[i-1] ||
			file < 0 || file >= len(about.Files) || row < 0 {
			return nil, fmt.Errorf("its reference to row %d of %q is invalid", cell, name)
		}
		part.cells, part.file, part.row = append(part.cells, cell), append(part.file, file),
			append(part.row, row)
		part.sums = append(part.sums, rowSum(sums[sha256.Size*i:]))
	}
	part.flat = make([]float32, shape[0]*shape[1])
	return part, nil
}

// fill copies the rows of a file into the array.
func (r *reference) fill(file int, rows npz.Array) error {
	flat, width := rows.Data.([]float32), r.shape[1]
	for i, cell := range r.cells {
		if r.file[i] != file {
			continue
		}
		if r.row[i] >= rows.Shape[0] || rows.Shape[1] != width {
			return fmt.Errorf("it has no row %d of %d numbers", r.row[i], width)
		}
		copy(r.flat[cell*width:(cell+1)*width], flat[r.row[i]*width:])
	}
	return nil
}

// rowsPath returns the path of a file of rows. A final repertoire was renamed.
func (w *Writer) rowsPath(file string) string {
	path := filepath.Join(w.Dir, rowsDir, file)
	if strings.HasPrefix(file, repertoireRows) && !exists(path) {
		return filepath.Join(w.Dir, repertoireFile)
	}
	return path
}

// readRowsFile reads the rows of a file, float32 [n, width].
func (w *Writer) readRowsFile(file string) (npz.Array, error) {
	if !rowsName.MatchString(file) {
		return npz.Array{}, errors.New("a name of a file of rows is invalid")
	}
	path := w.rowsPath(file)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return npz.Array{}, fmt.Errorf("%s is missing", path)
	} else if err != nil {
		return npz.Array{}, err
	}
	defer f.Close()
	rows, err := genotypesIn(f)
	if err != nil {
		return npz.Array{}, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// genotypesIn reads the genotypes in a file. A disk error, unlike damaged contents, is an
// [fs.PathError].
func genotypesIn(f *os.File) (npz.Array, error) {
	info, err := f.Stat()
	if err != nil {
		return npz.Array{}, err
	}
	// an offset outside of the file is damage, but an fs.PathError of the file itself
	r, err := npz.NewReader(io.NewSectionReader(f, 0, info.Size()), info.Size())
	if err != nil {
		return npz.Array{}, err
	}
	rows, err := r.Read(genotypesKey)
	if err != nil {
		return npz.Array{}, err
	}
	if _, ok := rows.Data.([]float32); !ok || len(rows.Shape) != 2 {
		return npz.Array{}, fmt.Errorf("genotypes is %s %v, not float32 [n, parameters]", rows.DType(),
			rows.Shape)
	}
	return rows, nil
}

// StageRepertoire writes the final repertoire of a run in training. The next SaveCheckpoint, which
// must be of the same state, replaces repertoire.npz by it.
func (w *Writer) StageRepertoire(r *Repertoire) error {
	arrays, err := w.repertoireArrays(r)
	if err != nil {
		return err
	}
	flat := arrays[genotypesKey].Data.([]float32)
	rows := make([]int, arrays[genotypesKey].Shape[0])
	for i := range rows {
		rows[i] = i
	}
	sums := rowSums(flat, r.Params, rows)
	staged := &stagedRows{rowsFileName(repertoireRows, sums), map[rowSum]rowPlace{}}
	for row, sum := range sums {
		if _, ok := staged.places[sum]; !ok {
			staged.places[sum] = rowPlace{staged.file, row}
		}
	}
	if err := w.saveRowsFile(staged.file, arrays); err != nil {
		return w.failure(err)
	}
	w.rows.staged = staged
	if w.rows.sizes == nil {
		w.rows.sizes = map[string]int{}
	}
	w.rows.sizes[staged.file] = len(rows)
	return nil
}

// publish makes the staged repertoire repertoire.npz.
func (w *Writer) publish() error {
	from := filepath.Join(w.Dir, rowsDir, w.rows.staged.file)
	if err := os.Rename(from, filepath.Join(w.Dir, repertoireFile)); err != nil {
		return err
	}
	return atomicfile.SyncDir(w.Dir)
}

// pruneRows removes the files of rows that no checkpoint needs.
func (w *Writer) pruneRows() error {
	dir := filepath.Join(w.Dir, checkpointsDir)
	generations, err := generationFiles(dir)
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, generation := range generations {
		files, err := filesOf(filepath.Join(dir, generationFile(generation)))
		if err != nil { // it may need any file; a later checkpoint replaces it
			return nil
		}
		for _, file := range files {
			needed[file] = true
		}
	}
	return w.removeRows(func(file string) bool { return !needed[file] })
}

func filesOf(path string) ([]string, error) {
	r, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := r.Read(metaKey)
	if err != nil {
		return nil, err
	}
	about, err := parseMeta(text)
	return about.Files, err
}

// removeRows removes the files of rows that meant selects, and the folder if it is empty then.
func (w *Writer) removeRows(meant func(file string) bool) error {
	dir := filepath.Join(w.Dir, rowsDir)
	isRows := func(name string) (string, bool) { return name, rowsName.MatchString(name) }
	err := removeFiles(dir, isRows, meant)
	_ = os.Remove(dir) // fails if other files are in it
	return err
}

func (w *Writer) dropRows() error {
	w.rows = rowFiles{}
	return w.removeRows(func(string) bool { return true })
}
