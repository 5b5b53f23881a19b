package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// Status is the newest state of a run, as kept in status.json. What training goes on from is a
// checkpoint, which may be a little older.
type Status struct {
	Progress
	CompileSeconds float64 `json:"compile_seconds"` // part of Seconds
	// -Inf, in JSON null, while the repertoire is empty
	MaxFitness float64 `json:"max_fitness"`
	Coverage   float64 `json:"coverage"` // per cent of the cells
	QDScore    float64 `json:"qd_score"` // see Stats
	Backend    string  `json:"backend"`  // what computes, such as "xla:cpu"
	// Backends is the history of backends. A run that more than one computed is not exact to the
	// bit.
	Backends []BackendUse `json:"backends"`
	Budget   Budget       `json:"budget"`
	// Descriptor names the components of descriptors, with units, for figures; nil in runs of older
	// programs.
	Descriptor []string  `json:"descriptor,omitempty"`
	Finished   bool      `json:"finished"` // the budget is spent
	Version    string    `json:"version"`  // of the program
	Updated    time.Time `json:"updated"`  // set by Writer.SaveStatus
	// set by Writer.SaveStatus; zero in runs of older programs
	Log LogSeal `json:"log,omitzero"`
}

// BackendUse says that a backend computed the generations after one.
type BackendUse struct {
	Backend string `json:"backend"`
	After   int64  `json:"after_generation"` // -1 for a run that begins
}

// UseBackend records what computes the generations after the given one (-1 for a run that begins),
// and forgets what was recorded of later ones, which are computed again. It tells whether that
// differs from what computed the run so far: going on is allowed, but the result is then not that
// of any single backend.
func (s *Status) UseBackend(backend string, after int64) (differs bool) {
	kept := []BackendUse{}
	for _, use := range s.Backends {
		if use.After < after {
			kept = append(kept, use)
		}
	}
	if n := len(kept); n == 0 || kept[n-1].Backend != backend {
		kept = append(kept, BackendUse{Backend: backend, After: after})
	}
	s.Backend, s.Backends = backend, kept
	return len(kept) > 1
}

// emptyStatus is that of a run which has not begun.
func emptyStatus() Status { return Status{MaxFitness: math.Inf(-1)} }

// statusFile lets MaxFitness be null, since JSON has no infinity.
type statusFile struct {
	statusFields
	MaxFitness *float64 `json:"max_fitness"`
}

// statusFields has the fields of Status without its methods.
type statusFields Status

// MarshalJSON writes a MaxFitness of -Inf as null.
func (s Status) MarshalJSON() ([]byte, error) {
	file := statusFile{statusFields: statusFields(s)}
	if !math.IsInf(s.MaxFitness, -1) {
		file.MaxFitness = &s.MaxFitness
	}
	return json.Marshal(file)
}

// UnmarshalJSON reads what MarshalJSON writes. Fields that it does not know, of a newer program,
// are passed over.
func (s *Status) UnmarshalJSON(data []byte) error {
	file := statusFile{statusFields: statusFields(*s)}
	if err := json.Unmarshal(data, &file); err != nil {
		return syntaxError(err)
	}
	*s = Status(file.statusFields)
	s.MaxFitness = math.Inf(-1)
	if file.MaxFitness != nil {
		s.MaxFitness = *file.MaxFitness
	}
	return nil
}

// sumKey begins the last field of status.json, which tells that all before it is as it was written.
const sumKey = ",\n  \"sha256\": \""

// file is status.json.
func (s Status) file() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(data, []byte("\n}"))
	return fmt.Appendf(nil, "%s%s%s\"\n}\n", body, sumKey, digest(body)), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// parseStatus reads status.json. One without a checksum is of an older program, or was written by
// hand.
func parseStatus(data []byte) (Status, error) {
	if at := bytes.LastIndex(data, []byte(sumKey)); at >= 0 && !bytes.HasPrefix(data[at+len(sumKey):],
		[]byte(digest(data[:at])+"\"")) {
		return emptyStatus(), errors.New("its sha256 differs")
	}
	s := emptyStatus()
	if err := json.Unmarshal(data, &s); err != nil {
		return emptyStatus(), syntaxError(err)
	}
	if s.Generation < 0 || s.Evaluations < 0 || s.EnvSteps < 0 || s.Seconds < 0 || s.CPUSeconds < 0 {
		return emptyStatus(), fmt.Errorf("its counters are negative")
	}
	return s, nil
}
