package runs

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/protobuf/protobuftest"
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
	for data := must.Get(os.ReadFile(files[0])); len(data) > 0; {
		size := binary.LittleEndian.Uint64(data)
		body := data[12:][:size]
		if sum(data[:8]) != binary.LittleEndian.Uint32(data[8:]) || sum(body) != binary.LittleEndian.Uint32(data[12+size:]) {
			t.Fatal("a checksum is wrong")
		}
		event := protobuftest.Fields(t, body)
		text := fmt.Sprint(event[2], event[3])
		for _, session := range event[7] {
			text += fmt.Sprint(" session ", protobuftest.Fields(t, session)[1])
		}
		for _, summary := range event[5] {
			for _, value := range protobuftest.Fields(t, summary)[1] {
				scalar := protobuftest.Fields(t, value)
				text += fmt.Sprint(" ", scalar[1], scalar[2])
			}
		}
		texts, data = append(texts, text), data[16+size:]
	}
	return texts
}

// An event file has the rows of metrics.csv, also of an interrupted run that resumes, and of a
// finished one that is asked for it later.
func TestEvents(t *testing.T) {
	root := t.TempDir()
	row := func(generation, score string) string {
		return fmt.Sprintf("[%s] [] [seconds] [%s] [qd_score] [%s]", generation, generation, score)
	}
	head := []string{"[] [brain.Event:2]", "[] [] session [1]"}
	w := create(t, root)
	w.TensorBoard = true
	begin := func(generation int64) {
		must.Do(w.Begin(generation, "generation", "seconds", "qd_score", "max_fitness", FinalColumn))
	}
	begin(-1)
	must.Do(w.Log(0, 0, -2.5, math.Inf(-1), 0))
	must.Do(w.Log(1, 1, 4, math.NaN(), 0))
	must.Do(w.Log(2, 2, 5, math.NaN(), 0))
	errtest.Equal(t, "scalars", scalars(t, w.Run), append(head, row("0", "-2.5"), row("1", "4"), row("2", "5")))
	begin(1)
	must.Do(w.Log(2, 2, 6, math.NaN(), 0))
	must.Do(w.Close())
	want := append(head, row("0", "-2.5"), row("1", "4"), row("2", "6"))
	errtest.Equal(t, "resumed", scalars(t, w.Run), want)
	w = create(t, root) // it resumes without events
	begin(1)
	must.Do(w.Log(2, 2, 7, math.NaN(), 0))
	must.Do(w.Close())
	want[len(want)-1] = row("2", "7")
	for range 2 {
		must.Do(w.WriteEvents())
		errtest.Equal(t, "later", scalars(t, w.Run), want)
	}
}
