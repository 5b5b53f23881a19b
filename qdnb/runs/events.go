package runs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/qdnb/internal/protobuf"
)

// eventsLog repeats metrics.csv as scalars of TensorBoard (tensorflow/core/util/event.proto), whose
// steps are generations and whose wall times are the run's seconds.
type eventsLog struct {
	file    *os.File
	columns []string
	start   float64 // wall time of the run's second 0
}

// WriteEvents writes metrics.csv as an event file of TensorBoard to the folder tensorboard of a run,
// unless there is one: see [Writer].TensorBoard.
func (r *Run) WriteEvents() error {
	if old, _ := filepath.Glob(filepath.Join(r.Dir, eventsDir, eventsPattern)); len(old) > 0 {
		return nil
	}
	log, err := r.beginEvents()
	if err != nil {
		return err
	}
	return log.file.Close()
}

const eventsPattern = "events.out.tfevents.*"

// beginEvents replaces the event file by one with the rows of metrics.csv so far.
func (r *Run) beginEvents() (*eventsLog, error) {
	table, err := r.Metrics()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.Dir, eventsDir)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777)); err != nil {
		return nil, err
	}
	now := time.Now()
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%d.qdnb", now.Unix())))
	if err != nil {
		return nil, err
	}
	l := &eventsLog{file: file, columns: table.Columns, start: float64(now.UnixNano()) / 1e9}
	if n := len(table.Rows); n > 0 {
		l.start -= l.seconds(table.Rows[n-1])
	}
	head := protobuf.Message(nil).Double(1, l.start)
	data := record(nil, head.Text(3, "brain.Event:2"))
	// a viewer that knows an earlier file drops what it has
	data = record(data, head.Bytes(7, protobuf.Message(nil).Int(1, 1))) // SessionLog.START
	for _, row := range table.Rows {
		data = l.append(data, row)
	}
	if _, err := file.Write(data); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

func (l *eventsLog) seconds(row []float64) float64 {
	if i := slices.Index(l.columns, "seconds"); i >= 0 {
		return row[i]
	}
	return 0
}

// append appends the event of a row. Values that are not finite are left out.
func (l *eventsLog) append(data []byte, row []float64) []byte {
	var summary protobuf.Message
	for i, x := range row {
		if name := l.columns[i]; i > 0 && name != FinalColumn && !math.IsNaN(x) && !math.IsInf(x, 0) {
			summary = summary.Bytes(1, protobuf.Message(nil).Text(1, name).Float(2, float32(x)))
		}
	}
	return record(data, protobuf.Message(nil).Double(1, l.start+l.seconds(row)).Int(2, int64(row[0])).Bytes(5, summary))
}

// record appends a message with the framing of TFRecord: its length and checksums of both.
func record(data []byte, message protobuf.Message) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(message)))
	for _, part := range [][]byte{length, message} {
		sum := crc32.Checksum(part, castagnoli)
		data = append(data, part...)
		data = binary.LittleEndian.AppendUint32(data, (sum>>15|sum<<17)+0xa282ead8)
	}
	return data
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
