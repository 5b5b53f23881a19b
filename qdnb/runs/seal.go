package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"strings"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
)

// A sealed file is an .npz file whose last bytes, inside zip's comment, are the hexadecimal SHA-256
// of all preceding bytes. A single file holds both, so they are replaced in one step, and NumPy can
// still read it.

const sealSize = 2 * sha256.Size

// unsealed is the comment that reserves space for the digest.
var unsealed = "sha256:" + strings.Repeat("0", sealSize)

// sealer forwards what is written, except for the last sealSize bytes.
type sealer struct {
	out  io.Writer
	hash hash.Hash
	tail []byte
}

func (s *sealer) Write(data []byte) (int, error) {
	// Forward all but the last sealSize bytes of tail and data: first from the tail, then from the
	// data.
	surplus := len(s.tail) + len(data) - sealSize
	if surplus <= 0 {
		s.tail = append(s.tail, data...)
		return len(data), nil
	}
	old := min(surplus, len(s.tail))
	if err := s.pass(s.tail[:old]); err != nil {
		return 0, err
	}
	if err := s.pass(data[:surplus-old]); err != nil {
		return 0, err
	}
	s.tail = append(bytes.Clone(s.tail[old:]), data[surplus-old:]...)
	return len(data), nil
}

func (s *sealer) pass(data []byte) error {
	s.hash.Write(data)
	_, err := s.out.Write(data)
	return err
}

// writeSealed writes the output of write, with the digest in place of the last sealSize bytes.
func writeSealed(out io.Writer, write func(io.Writer) error) error {
	s := &sealer{out: out, hash: sha256.New()}
	if err := write(s); err != nil {
		return err
	}
	_, err := io.WriteString(out, hex.EncodeToString(s.hash.Sum(nil)))
	return err
}

// saveSealed creates or replaces a sealed file of arrays.
func saveSealed(path string, arrays map[string]npz.Array) error {
	return atomicfile.Write(path, func(out io.Writer) error {
		return writeSealed(out, func(out io.Writer) error { return npz.WriteTo(out, arrays, unsealed) })
	})
}

// readSealed reads a sealed file. A disk error, unlike damaged contents, is an [fs.PathError].
func readSealed[T any](path string, read func(*npz.Reader) (T, error)) (contents T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return contents, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return contents, err
	}
	r, err := unseal(f, info.Size())
	if err != nil {
		return contents, err
	}
	return read(r)
}

func unseal(file io.ReaderAt, size int64) (*npz.Reader, error) {
	if err := checkSeal(file, size); err != nil {
		return nil, err
	}
	return npz.NewReader(file, size)
}

// checkSeal returns an error if a sealed file of the given size was modified since it was written.
func checkSeal(file io.ReaderAt, size int64) error {
	if size < sealSize {
		return errors.New("truncated")
	}
	body := io.NewSectionReader(file, 0, size-sealSize)
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return err
	}
	seal := make([]byte, sealSize)
	if _, err := file.ReadAt(seal, size-sealSize); err != nil && err != io.EOF {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != string(seal) {
		return errors.New("sha256 differs")
	}
	return nil
}
