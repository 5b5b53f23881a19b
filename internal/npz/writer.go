package npz

import (
	"archive/zip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/qdnb/internal/npz/atomicfile"
)

// deflateBelow is the size in bytes from which arrays are stored uncompressed: network parameters
// hardly compress, and deflate is some twenty times slower than a disk.
const deflateBelow = 1 << 20

// writtenAt is the time stamp of every array, so that the same arrays give the same bytes. It is
// the earliest that zip can represent, and the one that NumPy uses.
var writtenAt = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Write writes an .npz file atomically: a crash leaves the old file or the new one.
func Write(path string, arrays map[string]Array) error {
	return atomicfile.Write(path, func(w io.Writer) error { return WriteTo(w, arrays, "") })
}

// WriteTo writes an .npz file to a stream. The same arrays give the same bytes. The file ends in
// the comment, a zip comment of up to 65 535 bytes.
func WriteTo(w io.Writer, arrays map[string]Array, comment string) error {
	archive := zip.NewWriter(w)
	if err := archive.SetComment(comment); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if err := addMember(archive, name, arrays[name]); err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
	}
	return archive.Close()
}

func addMember(archive *zip.Writer, name string, a Array) error {
	if name == "" || !utf8.ValidString(name) || strings.ContainsAny(name,
		"\x00\\") || strings.HasPrefix(name, "/") {
		return fmt.Errorf("not a valid array name")
	}
	if err := a.Check(); err != nil {
		return err
	}
	t, n := typeOf(a.Data)
	member := &zip.FileHeader{Name: name + ".npy", Method: zip.Deflate, Modified: writtenAt}
	if n >= deflateBelow/t.size {
		member.Method = zip.Store
	}
	w, err := archive.CreateHeader(member)
	if err != nil {
		return err
	}
	return writeArray(w, a)
}
