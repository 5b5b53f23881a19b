package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz/atomicfile"
)

// Reader reads arrays of an .npz file one by one. Its errors do not name the file. It is safe for
// concurrent use.
type Reader struct {
	size    int64
	members map[string]*zip.File
	keys    []string
	close   func() error
}

// Read reads all arrays of an .npz file.
func Read(path string) (map[string]Array, error) { return ReadFile(path, (*Reader).ReadAll) }

// ReadFile returns what a function reads from an .npz file. A disk error is an [io/fs.PathError], unlike
// damaged contents.
func ReadFile[T any](path string, read func(*Reader) (T, error)) (contents T, err error) {
	r, err := Open(path)
	if err != nil {
		return contents, err
	}
	defer r.Close()
	if contents, err = read(r); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return contents, err
}

// Open opens an .npz file and reads its list of arrays, but not their contents.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	// an offset outside of the file is damage, but an fs.PathError of the file itself
	r, err := NewReader(io.NewSectionReader(f, 0, info.Size()), info.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.close = f.Close
	return r, nil
}

// NewReader reads an .npz file of the given size from memory or any other source.
func NewReader(source io.ReaderAt, size int64) (*Reader, error) {
	archive, err := zip.NewReader(source, size)
	if errors.Is(err, zip.ErrFormat) {
		return nil, errors.New("not an .npz file, or cut off: the list of arrays at its end is missing")
	} else if err != nil {
		return nil, err
	}
	r := &Reader{size: size, members: map[string]*zip.File{}, close: func() error { return nil }}
	packed := uint64(0)
	for _, member := range archive.File {
		if each := member.CompressedSize64; each <= uint64(size) { // else reading it fails
			packed += each
		}
		key, ok := strings.CutSuffix(member.Name, ".npy")
		if !ok {
			continue // NumPy writes nothing else; other programs may add files
		}
		if r.members[key] != nil {
			return nil, fmt.Errorf("array %s appears twice", names.Quote(key))
		}
		r.members[key] = member
		r.keys = append(r.keys, key)
	}
	if packed > uint64(size) { // overlapping members would multiply memory use
		return nil, fmt.Errorf("damaged: its arrays have %d bytes, but the file has %d", packed, size)
	}
	slices.Sort(r.keys)
	for _, member := range archive.File {
		if err := checkName(source, member); err != nil {
			return nil, fmt.Errorf("array %s: %w", names.Quote(member.Name), err)
		}
	}
	return r, nil
}

// checkName compares a member's name in the list at the archive's end with the name in front of its
// contents. Checksums cover contents only, and an array under a damaged name would seem to be
// missing.
func checkName(source io.ReaderAt, member *zip.File) error {
	const fixed = 30 // bytes of a header before the name, which "extra" bytes follow
	data, err := member.DataOffset()
	if err != nil {
		return err
	}
	head := make([]byte, min(data, fixed+int64(len(member.Name))+1<<12))
	if _, err := source.ReadAt(head, data-int64(len(head))); err != nil && err != io.EOF {
		return err
	}
	for extra := 0; ; extra++ {
		at := len(head) - extra - len(member.Name) - fixed
		if at < 0 {
			return errors.New("damaged: its name differs between the archive's list and its own header")
		}
		size := func(field int) int { return int(binary.LittleEndian.Uint16(head[at+field:])) }
		if bytes.HasPrefix(head[at:], []byte("PK\x03\x04")) && size(26) == len(member.Name) && size(28) == extra &&
			string(head[at+fixed:at+fixed+len(member.Name)]) == member.Name {
			return nil
		}
	}
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }

// Keys returns the names of the arrays, sorted.
func (r *Reader) Keys() []string { return slices.Clone(r.keys) }

// Has reports whether the file has an array of that name.
func (r *Reader) Has(name string) bool { return r.members[name] != nil }

// Header returns the type (NumPy's name, such as "float32") and the shape of an array without
// reading it.
func (r *Reader) Header(name string) (dtype string, shape []int, err error) {
	err = r.open(name, func(stream io.Reader, size int64) error {
		h, err := readHeader(stream)
		if err != nil {
			return err
		}
		dtype, shape = h.dtype.name, h.shape
		return h.fits(size)
	})
	return dtype, shape, err
}

// Read reads one array.
func (r *Reader) Read(name string) (a Array, err error) {
	err = r.open(name, func(stream io.Reader, size int64) error {
		a, err = readArray(stream, size)
		return err
	})
	return a, err
}

// ReadAll reads all arrays.
func (r *Reader) ReadAll() (map[string]Array, error) {
	arrays := make(map[string]Array, len(r.keys))
	for _, key := range r.keys {
		a, err := r.Read(key)
		if err != nil {
			return nil, err
		}
		arrays[key] = a
	}
	return arrays, nil
}

// open calls f with an array's member and its size according to the archive's list.
func (r *Reader) open(name string, f func(stream io.Reader, size int64) error) error {
	member := r.members[name]
	if member == nil {
		return fmt.Errorf("there is no array %q; the arrays are %s", name, names.List(r.keys))
	}
	if err := r.plausible(member); err != nil {
		return fmt.Errorf("array %s: %w", names.Quote(name), err)
	}
	stream, err := member.Open()
	if err != nil {
		return fmt.Errorf("array %s: %w", names.Quote(name), err)
	}
	defer stream.Close()
	if err := f(stream, int64(member.UncompressedSize64)); err != nil {
		if errors.Is(err, zip.ErrChecksum) {
			err = errors.New("damaged: the checksum differs")
		}
		return fmt.Errorf("array %s: %w", names.Quote(name), err)
	}
	return nil
}

// plausible rejects a member whose listed size is impossible, because memory is allocated by that
// size. Deflate compresses at most 1032 times.
func (r *Reader) plausible(member *zip.File) error {
	const ratio, slack = 1032, 1 << 10
	packed, size := member.CompressedSize64, member.UncompressedSize64
	switch {
	case packed > uint64(r.size):
		return fmt.Errorf("cut off: it needs %d bytes, but the file has %d", packed, r.size)
	case member.Method == zip.Store && packed != size,
		size > slack && (size-slack)/ratio > packed:
		return fmt.Errorf("damaged: %d bytes cannot hold %d", packed, size)
	}
	return nil
}

// deflateBelow is the size in bytes from which arrays are stored uncompressed: network parameters
// hardly compress, and deflate is some twenty times slower than a disk.
const deflateBelow = 1 << 20

// writtenAt is the time stamp of every array, so that the same arrays give the same bytes. It is
// the earliest that zip can represent, and the one that NumPy uses.
var writtenAt = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Write writes an .npz file atomically: a crash leaves the old file or the new one.
func Write(path string, arrays map[string]Array) error {
	return atomicfile.Write(path, func(w io.Writer) error { return WriteTo(w, arrays) })
}

// WriteTo writes an .npz file to a stream. The same arrays give the same bytes.
func WriteTo(w io.Writer, arrays map[string]Array) error {
	archive := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if err := addMember(archive, name, arrays[name]); err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
	}
	return archive.Close()
}

func addMember(archive *zip.Writer, name string, a Array) error {
	if name == "" || !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\\") || strings.HasPrefix(name, "/") {
		return fmt.Errorf("not a valid array name")
	}
	if err := a.Check(); err != nil {
		return err
	}
	t, n := typeOf(a.Data)
	member := &zip.FileHeader{Name: name + ".npy", Method: zip.Deflate, Modified: writtenAt}
	if n >= deflateBelow/t.size() {
		member.Method = zip.Store
	}
	w, err := archive.CreateHeader(member)
	if err != nil {
		return err
	}
	return writeArray(w, a)
}
