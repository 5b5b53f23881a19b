// Package hostile is shared by the fuzz targets: archives with faults that flipped bits never
// produce, and the checks that every reader must pass.
package hostile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Error fails the test if an error is not one readable line.
func Error(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	if text == "" || len(text) > 8<<10 || strings.ContainsAny(text, "\n\r\x00\x1b") {
		t.Errorf("the error is not one clear line of text but has %d bytes: %.300q", len(text), text)
	}
}

// patience is the processor time of this process after which a call counts as endless.
const patience = time.Minute

func worked() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Bounded fails the test if f takes more memory than a file of size bytes can justify: Deflate
// compresses up to 1032 times, and numbers are held in a few forms at once. If f does not end,
// Bounded ends the process, so that the fuzzer keeps the input.
func Bounded(t testing.TB, size int, f func()) {
	t.Helper()
	done, begun := make(chan struct{}), worked()
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(patience):
				if worked()-begun > patience*9/10 {
					panic(fmt.Sprintf("%d bytes of input take more than %v", size, patience))
				}
			}
		}
	}()
	before := allocated()
	f()
	if got, most := allocated()-before, uint64(24<<20+5000*size); got > most {
		t.Errorf("%d bytes of input took %d MB of memory", size, got>>20)
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Archive makes an .npz file with intact members from a text. Each line is an array:
//
//	name descr shape value value ...
//
// such as "fitnesses <f4 3, 1.5 -inf". The values are repeated until the shape is full; a shape
// that is too large gets none. Any word may be nonsense.
func Archive(text string) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	lines := strings.Split(text, "\n")
	for _, line := range lines[:min(len(lines), 24)] {
		words := strings.Split(line, " ")
		if len(words) < 3 {
			continue
		}
		w, err := archive.CreateHeader(&zip.FileHeader{Name: words[0] + ".npy", Method: zip.Store})
		if err != nil {
			continue
		}
		_, _ = w.Write(array(words[1], words[2], words[3:])) // a buffer never fails
	}
	_ = archive.Close()
	return out.Bytes()
}

// Array makes an .npy file from a line as in [Archive], without the name.
func Array(text string) []byte {
	words := strings.Split(text, " ")
	if len(words) < 2 {
		return nil
	}
	return array(words[0], words[1], words[2:])
}

func array(descr, shape string, values []string) []byte {
	count := 1
	for part := range strings.SplitSeq(shape, ",") {
		if n, err := strconv.Atoi(part); err == nil && n >= 0 {
			if n > 0 && count > 1<<14/n {
				count = 0
			}
			count *= n
		}
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", descr, shape)
	out := append([]byte("\x93NUMPY"), 2, 0)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(header)))
	out = append(out, header...)
	if len(values) == 0 {
		values = []string{"0"}
	}
	for i := range count {
		out = appendNumber(out, descr, values[i%len(values)])
	}
	return out
}

// appendNumber appends a number in the format descr, as far as it is known.
func appendNumber(out []byte, descr, text string) []byte {
	x, _ := strconv.ParseFloat(text, 64) // else 0
	order := binary.AppendByteOrder(binary.LittleEndian)
	if strings.HasPrefix(descr, ">") {
		order = binary.BigEndian
	}
	switch strings.TrimLeft(descr, "<>=|") {
	case "f4":
		return order.AppendUint32(out, math.Float32bits(float32(x)))
	case "f8":
		return order.AppendUint64(out, math.Float64bits(x))
	case "i4", "u4":
		return order.AppendUint32(out, uint32(int64(x)))
	case "i8", "u8":
		return order.AppendUint64(out, uint64(int64(x)))
	}
	return append(out, byte(int64(x)))
}
