package runs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// A replay buffer is a ring of capacity rows. total rows were written to it so far; row r is stored
// at r mod capacity. It can be large, and only part of it changes between two checkpoints. Its rows
// are therefore stored apart from the checkpoints, in the folder replay, in segments: files of a
// range of rows that are never rewritten. A checkpoint only needs to know its total.

// Errors of [Writer.LoadReplay].
var (
	ErrNoReplay         = errors.New("no replay buffer saved")
	ErrIncompleteReplay = errors.New("incomplete replay buffer")
)

var segmentBytes int64 = 96 << 20

// rowsKey names a segment's array of rows, float32 [to - from, width].
const rowsKey = "rows"

// segment is the file of rows from (inclusive) to to (exclusive).
type segment struct{ from, to int64 }

// file returns the name of a segment: 000000025000-000000050000.npz.
func (s segment) file() string { return fmt.Sprintf("%012d-%012d.npz", s.from, s.to) }

type segmentMeta struct {
	Run  string `json:"run"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

type replayFiles struct {
	capacity int64 // 0 until something is saved or loaded
	total    int64 // rows of the segments; later files are from an abandoned session
	// totals of the kept checkpoints by generation, as far as known
	totals map[int64]int64
}

// SaveReplay saves the rows of a replay buffer, a ring of capacity rows to which total rows were
// written so far. Call it before the SaveCheckpoint of the same state. It requests the rows that no
// segment holds yet in parts: rows(from, to) returns float32 [to - from, width], row-major. They
// are on disk when SaveReplay returns. After an error, another call continues where it stopped.
// SaveCheckpoint removes rows that no checkpoint needs.
//
// A session that resumes from a checkpoint must call [Writer.LoadReplay] first.
func (w *Writer) SaveReplay(total, capacity int64, width int, rows func(from, to int64) ([]float32, error)) error {
	r := &w.replay
	if err := w.checkReplay(total, capacity, width); err != nil {
		return err
	}
	if total < r.total {
		return fmt.Errorf("replay buffer of %s: %d rows after %d", w.Dir, total, r.total)
	}
	dir := filepath.Join(w.Dir, replayDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return w.failure(err)
	}
	if all, err := segmentFiles(dir); err != nil {
		return w.failure(err)
	} else if r.capacity == 0 && w.last >= 0 && len(all) > 0 { // a checkpoint needs the files
		return fmt.Errorf("replay buffer of %s: call LoadReplay before SaveReplay", w.Dir)
	}
	abandoned := func(s segment) bool { return s.to > r.total }
	if err := removeFiles(dir, parseSegment, abandoned); err != nil {
		return w.failure(err)
	}
	r.capacity = capacity
	step := max(1, segmentBytes/(4*int64(width)))
	for from := max(r.total, total-capacity); from < total; from += step {
		s := segment{from, min(from+step, total)}
		flat, err := rows(s.from, s.to)
		if err != nil {
			return err
		}
		if err := w.saveSegment(dir, s, width, flat); err != nil {
			return err
		}
		r.total = s.to
	}
	r.total = total
	return nil
}

func (w *Writer) checkReplay(total, capacity int64, width int) error {
	if total < 0 || capacity < 1 || width < 1 {
		return fmt.Errorf("replay buffer of %s: invalid size: %d rows in a ring of %d x %d", w.Dir, total, capacity, width)
	}
	return nil
}

func (w *Writer) saveSegment(dir string, s segment, width int, flat []float32) error {
	meta, err := json.Marshal(segmentMeta{w.Name(), s.from, s.to})
	if err != nil {
		return err
	}
	arrays := map[string]npz.Array{metaKey: npz.Of(meta), rowsKey: {Shape: []int{int(s.to - s.from), width}, Data: flat}}
	if err := arrays[rowsKey].Check(); err != nil {
		return fmt.Errorf("replay buffer of %s: rows %d to %d: %w", w.Dir, s.from, s.to, err)
	}
	return w.failure(npz.Write(filepath.Join(dir, s.file()), arrays))
}

// LoadReplay reads the rows that a replay buffer held when total rows had been written to it, as
// the loaded checkpoint says: rows max(0, total - capacity) to total. put receives them in parts
// and in order, as float32 [n, width] starting at a row number. LoadReplay changes no file; the
// next SaveReplay removes rows after total that an abandoned session left.
//
// If rows are missing or damaged, the checkpoint is unusable. The error names the file and says
// what to do. It is [ErrNoReplay] if there are no rows at all, and [ErrIncompleteReplay] if some
// are missing. Some rows may have been put before an error.
func (w *Writer) LoadReplay(total, capacity int64, width int, put func(from int64, rows []float32) error) error {
	if err := w.checkReplay(total, capacity, width); err != nil {
		return err
	}
	dir := filepath.Join(w.Dir, replayDir)
	all, err := segmentFiles(dir)
	if err != nil {
		return w.failure(err)
	}
	first := max(0, total-capacity)
	if total > 0 && len(all) == 0 {
		return fmt.Errorf("%w in %s, but resuming needs %d rows of it; move the folder away to "+
			"start over", ErrNoReplay, w.Dir, total-first)
	}
	var chain []segment
	for next := first; next < total; {
		i := slices.IndexFunc(all, func(s segment) bool { return s.from <= next && next < s.to && s.to <= total })
		if i < 0 {
			return fmt.Errorf("%w: %s lacks the segment with row %d; %s", ErrIncompleteReplay, dir, next, w.otherwise())
		}
		chain = append(chain, all[i])
		next = all[i].to
	}
	for _, s := range chain {
		flat, err := w.readSegment(filepath.Join(dir, s.file()), s, width)
		if err != nil {
			return err
		}
		skip := max(0, first-s.from)
		if err := put(s.from+skip, flat[skip*int64(width):]); err != nil {
			return err
		}
	}
	w.replay = replayFiles{capacity, total, map[int64]int64{w.last: total}}
	return nil
}

func (w *Writer) readSegment(path string, s segment, width int) ([]float32, error) {
	flat, err := npz.ReadFile(path, func(file *npz.Reader) ([]float32, error) {
		arrays, err := file.ReadAll()
		if err != nil {
			return nil, err
		}
		return segmentRows(arrays, segmentMeta{w.Name(), s.from, s.to}, width)
	})
	if errors.As(err, new(*fs.PathError)) {
		return nil, fmt.Errorf("cannot read replay segment %s; fix the cause, or %s (%w)", path, w.otherwise(), err)
	} else if err != nil {
		return nil, fmt.Errorf("damaged replay segment %w; %s", err, w.otherwise())
	}
	return flat, nil
}

// segmentRows returns the rows in the arrays of a segment, whose metadata must match want.
func segmentRows(arrays map[string]npz.Array, want segmentMeta, width int) ([]float32, error) {
	var meta segmentMeta
	if err := metaOf(arrays, &meta); err != nil {
		return nil, err
	}
	if meta != want {
		return nil, fmt.Errorf("it holds rows %d to %d of %s", meta.From, meta.To, names.Plain(meta.Run))
	}
	rows := arrays[rowsKey]
	flat, ok := rows.Data.([]float32)
	if !ok || !slices.Equal(rows.Shape, []int{int(want.To - want.From), width}) {
		return nil, fmt.Errorf("its rows are %s %v, not float32 [%d %d]", rows.DType(), rows.Shape, want.To-want.From, width)
	}
	return flat, nil
}

func (w *Writer) otherwise() string {
	dir := filepath.Join(w.Dir, checkpointsDir)
	all, err := generations(dir, stateKind)
	if i := slices.Index(all, w.last); err == nil && i > 0 {
		return fmt.Sprintf("remove %s to resume from %s", w.checkpointPath(stateKind, w.last),
			generationFile(stateKind, all[i-1]))
	}
	return fmt.Sprintf("move %s away to start over", w.Dir)
}

// DropReplay removes the replay buffer from the folder. Its checkpoints can then no longer be
// resumed.
func (w *Writer) DropReplay() error {
	dir := filepath.Join(w.Dir, replayDir)
	w.replay = replayFiles{}
	if err := removeFiles(dir, parseSegment, func(segment) bool { return true }); err != nil {
		return w.failure(err)
	}
	if err := atomicfile.Sweep(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.failure(err)
	}
	_ = os.Remove(dir) // fails if other files are in it
	return nil
}

// pruneReplay removes the segments that neither the checkpoint of a generation nor a later one needs.
func (w *Writer) pruneReplay(generation int64) error {
	r := &w.replay
	if r.capacity == 0 {
		return nil
	}
	if r.totals == nil {
		r.totals = map[int64]int64{}
	}
	r.totals[generation] = r.total
	kept, err := generations(filepath.Join(w.Dir, checkpointsDir), stateKind)
	if err != nil {
		return err
	}
	oldest, totals := r.total, map[int64]int64{}
	for _, g := range kept {
		// an unknown checkpoint is older than the loaded one and may need any segment
		total, known := r.totals[g]
		if known {
			totals[g] = total
		}
		oldest = min(oldest, total)
	}
	r.totals = totals
	return removeFiles(filepath.Join(w.Dir, replayDir), parseSegment,
		func(s segment) bool { return s.to <= oldest-r.capacity })
}

func segmentFiles(dir string) ([]segment, error) {
	all, err := filesIn(dir, parseSegment)
	slices.SortFunc(all, func(a, b segment) int { return cmp.Compare(a.from, b.from) })
	return all, err
}

func parseSegment(name string) (s segment, ok bool) {
	from, to, _ := strings.Cut(strings.TrimSuffix(name, ".npz"), "-")
	var errFrom, errTo error
	s.from, errFrom = strconv.ParseInt(from, 10, 64)
	s.to, errTo = strconv.ParseInt(to, 10, 64)
	return s, errFrom == nil && errTo == nil && 0 <= s.from && s.from < s.to && s.file() == name
}
