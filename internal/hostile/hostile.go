// Package hostile is what the fuzz targets share: archives that are wrong in ways that flipped bits
// never reach, and what is asked of whoever reads them.
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

// Error fails the test if an error is not one line that people can read.
func Error(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	if text == "" || len(text) > 8<<10 || strings.ContainsAny(text, "\n\r\x00\x1b") {
		t.Errorf("the error is not one clear line of text, it has %d bytes: %.300q", len(text), text)
	}
}

// patience is after how much work something is taken to be endless: time of the process, since
// others may have the machine.
const patience = time.Minute

// worked is the processor time that this process has had.
func worked() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Bounded fails the test if f takes more memory than a file of so many bytes can be the reason for:
// Deflate makes data up to 1032 times smaller, and numbers are held in a few forms at once. If f
// does not end it ends the process, so that the fuzzer keeps the input.
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

// allocated counts the bytes that were ever taken from the heap.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Archive makes an .npz file whose members are whole, and say what the text says. A line is an
// array:
//
//	name descr shape value value ...
//
// such as "fitnesses <f4 3, 1.5 -inf". The values are repeated until the shape is full; a shape
// that is too large for that gets none. Any word may be nonsense.
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
		_, _ = w.Write(array(words[1], words[2], words[3:])) // memory takes all
	}
	_ = archive.Close()
	return out.Bytes()
}

// Array is an .npy file of a line as of [Archive], without the name.
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

// appendNumber adds a number in the form that descr says, as far as it is known.
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
