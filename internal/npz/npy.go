package npz

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"example.com/qdnb/internal/npz/atomicfile"
)

// ReadNPY reads an .npy file.
func ReadNPY(path string) (Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return Array{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Array{}, err
	}
	a, err := readArray(f, info.Size())
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// WriteNPY writes an .npy file atomically.
func WriteNPY(path string, a Array) error {
	return atomicfile.Write(path, func(w io.Writer) error { return writeArray(w, a) })
}

func readArray(r io.Reader, size int64) (Array, error) {
	buffered := bufio.NewReader(r)
	h, err := readHeader(buffered)
	if err != nil {
		return Array{}, err
	}
	if err := h.fits(size); err != nil {
		return Array{}, err
	}
	data, memory := h.dtype.make(h.count)
	if flags, ok := data.([]bool); ok {
		// A byte other than 0 and 1 is not a value of Go's bool, so booleans are not read in place.
		raw := make([]byte, len(flags))
		if err := readFull(buffered, raw); err != nil {
			return Array{}, err
		}
		for i, b := range raw {
			flags[i] = b != 0
		}
	} else if err := readFull(buffered, memory); err != nil {
		return Array{}, err
	}
	// The zip reader verifies the checksum at the end of the member, so read to the end.
	if _, err := buffered.ReadByte(); err == nil {
		return Array{}, fmt.Errorf("it has more data than shape %v needs", h.shape)
	} else if err != io.EOF {
		return Array{}, err
	}
	if h.swap {
		swapBytes(memory, h.dtype.size)
	}
	if h.fortran {
		data = h.dtype.reorder(data, h.shape)
	}
	return Array{Shape: h.shape, Data: data}, nil
}

func writeArray(w io.Writer, a Array) error {
	if err := a.Check(); err != nil {
		return err
	}
	t, _ := typeOf(a.Data)
	head, err := encodeHeader(t, a.Shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	memory, _ := t.view(a.Data)
	_, err = w.Write(memory)
	return err
}
