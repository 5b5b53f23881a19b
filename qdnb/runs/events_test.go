package runs

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"example.com/qdnb/internal/must"
)

// scalars returns what the event file of a run holds, one text per record.
func scalars(t *testing.T, run *Run) (texts []string) {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(run.Dir, eventsDir, eventsPattern)))
	if len(files) != 1 {
		t.Fatalf("event files %v", files)
	}
	sum := func(data []byte) uint32 {
		crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		return crc>>15 | crc<<17 + 0xa282ead8
	}
	var message func(data []byte) string
	message = func(data []byte) (text string) {
		for len(data) > 0 {
			number, kind, n := protowire.ConsumeTag(data)
			data = data[n:]
			var value string
			switch kind {
			case protowire.VarintType:
				x, size := protowire.ConsumeVarint(data)
				value, n = fmt.Sprint(x), size
			case protowire.Fixed32Type:
				x, size := protowire.ConsumeFixed32(data)
				value, n = fmt.Sprint(math.Float32frombits(x)), size
			case protowire.Fixed64Type: // the wall time
				_, n = protowire.ConsumeFixed64(data)
			default:
				x, size := protowire.ConsumeBytes(data)
				if value, n = string(x), size; number == 7 || number == 5 || number == 1 && x[0] == '\n' {
					value = "{" + message(x) + "}"
				}
			}
			if n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			text += fmt.Sprintf("%d:%s ", number, value)
			data = data[n:]
		}
		return text
	}
	for data := must.Get(os.ReadFile(files[0])); len(data) > 0; {
		size := binary.LittleEndian.Uint64(data)
		body := data[12:][:size]
		if sum(data[:8]) != binary.LittleEndian.Uint32(data[8:]) || sum(body) != binary.LittleEndian.Uint32(data[12+size:]) {
			t.Fatal("a checksum is wrong")
		}
		texts, data = append(texts, message(body)), data[16+size:]
	}
	return texts
}

// An event file has the rows of metrics.csv, also of an interrupted run that resumes, and of a
// finished one that is asked for it later.
func TestEvents(t *testing.T) {
	root := t.TempDir()
	row := func(generation, score string) string {
		return "1: 2:" + generation + " 5:{1:{1:seconds 2:" + generation + " } 1:{1:qd_score 2:" + score + " } } "
	}
	head := []string{"1: 3:brain.Event:2 ", "1: 7:{1:1 } "}
	w := create(t, root)
	w.TensorBoard = true
	begin := func(generation int64) {
		must.Do(w.Begin(generation, "generation", "seconds", "qd_score", "max_fitness", FinalColumn))
	}
	begin(-1)
	must.Do(w.Log(0, 0, -2.5, math.Inf(-1), 0))
	must.Do(w.Log(1, 1, 4, math.NaN(), 0))
	must.Do(w.Log(2, 2, 5, math.NaN(), 0))
	if got, want := scalars(t, w.Run), append(head, row("0", "-2.5"), row("1", "4"), row("2", "5")); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	begin(1)
	must.Do(w.Log(2, 2, 6, math.NaN(), 0))
	must.Do(w.Close())
	want := append(head, row("0", "-2.5"), row("1", "4"), row("2", "6"))
	if got := scalars(t, w.Run); !slices.Equal(got, want) {
		t.Errorf("resumed: %q, not %q", got, want)
	}
	must.Do(os.RemoveAll(filepath.Join(w.Dir, eventsDir)))
	for range 2 {
		must.Do(w.WriteEvents())
		if got := scalars(t, w.Run); !slices.Equal(got, want) {
			t.Errorf("later: %q, not %q", got, want)
		}
	}
}
