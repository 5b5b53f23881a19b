package runs

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"example.com/qdnb/internal/names"
)

// Status is the newest state of a run, as stored in status.json. Training resumes from a
// checkpoint, which may be slightly older.
type Status struct {
	Progress
	CompileSeconds float64 `json:"compile_seconds"` // included in Seconds
	MaxFitness     float64 `json:"max_fitness"`     // -Inf, in JSON null, if the repertoire is empty
	Coverage       float64 `json:"coverage"`        // per cent of the cells
	QDScore        float64 `json:"qd_score"`        // see Stats
	Outside        int64   `json:"outside_limits"`  // evaluations outside the descriptor's limits
	Invalid        int64   `json:"invalid"`         // evaluations and training steps that were not finite
	Backend        string  `json:"backend"`         // such as "xla:cpu", or Imported
	// Machines is the history of machines, backends and programs. A run computed on more than one backend
	// is not bit-reproducible.
	Machines []MachineUse `json:"machines,omitempty"`
	Budget   Budget       `json:"budget"`
	// Seeds is the number of runs that shared the time limits of a budget, whose share Budget is; 0 if
	// the run was trained alone.
	Seeds int `json:"seeds,omitzero"`
	// Descriptor names the descriptor components, with units, for figures.
	Descriptor []string `json:"descriptor,omitempty"`
	// Lower and Upper are the limits of the descriptor.
	Lower []float32 `json:"descriptor_min,omitempty"`
	Upper []float32 `json:"descriptor_max,omitempty"`
	// Observations and Actions are the sizes of the environment.
	Observations int `json:"observations,omitempty"`
	Actions      int `json:"actions,omitempty"`
	// Choices is a checksum of the actions of a discrete environment, such as skills; 0 in others.
	Choices uint32 `json:"choices,omitempty"`
	// Evaluate is a hash of the code of a simulator's function, see [xla.Code]; "" without such code.
	Evaluate string `json:"evaluate,omitempty"`
	// Base is the algorithm that a variant is based on; "" if the run is no variant.
	Base     string    `json:"base,omitempty"`
	Finished bool      `json:"finished"` // the budget is spent
	Version  string    `json:"version"`  // of the program
	Updated  time.Time `json:"updated"`  // set by Writer.SaveStatus
}

// Completes reports whether the run is finished and has spent its share of a budget whose time
// limits at least so many runs share. A budget without limits is spent.
func (s Status) Completes(b Budget, seeds int) bool {
	return s.Finished && (b == Budget{} || b.Share(max(1, seeds, s.Seeds)).Done(s.Progress))
}

// AllInvalid returns an error if the run has evaluations and none of them was finite.
func (s Status) AllInvalid() error {
	if s.Invalid == 0 || !math.IsInf(s.MaxFitness, -1) {
		return nil
	}
	return errors.New("no evaluation was finite: see what envtest.Check says about the environment, and what " +
		"a simulator or parts of yours return")
}

// Imported is the backend of runs that were imported, not trained.
const Imported = "imported"

// MachineUse records the machine, the backend and the program that computed the generations after a given
// one.
type MachineUse struct {
	// Machine is the processor, the number of cores and the system, as in "Intel(R) Xeon(R)
	// Processor, 2 cores, linux/amd64", and the accelerator, if any.
	Machine string `json:"machine"`
	Backend string `json:"backend,omitempty"` // such as "xla:cpu"; "" in runs that did not record it
	Version string `json:"version"`           // of the program
	Commit  string `json:"commit"`            // of the program; "unknown" if the build does not record it
	// Programs is a hash of the programs, which neither the machine nor the backend changes: equal ones
	// compute the same function of the same settings. "" in runs that did not record it.
	Programs string `json:"programs,omitempty"`
	// Numbers is a hash of what the ledger of the program says that these programs compute. "" if it says
	// nothing about them, or the program was built from modified files.
	Numbers string `json:"numbers,omitempty"`
	After   int64  `json:"after_generation"` // -1 from the start of the run
}

// UseMachine records the machine, the backend and the program for the generations after u.After. It drops
// records of later generations, which are recomputed. It reports whether the run has used more than one
// backend: resuming on another backend is allowed, but no single backend has the same result.
func (s *Status) UseMachine(u MachineUse) (differs bool) {
	kept := slices.DeleteFunc(slices.Clone(s.Machines), func(old MachineUse) bool { return old.After >= u.After })
	s.Backend, s.Machines = u.Backend, append(kept, u)
	if n := len(kept); n > 0 {
		if u.After = kept[n-1].After; kept[n-1] == u { // only the generation differs
			s.Machines = kept
		}
	}
	return slices.ContainsFunc(kept, func(old MachineUse) bool { return old.Backend != "" && old.Backend != u.Backend })
}

// statusFile encodes a MaxFitness of -Inf as null, since JSON has no infinity.
type statusFile struct {
	statusFields
	MaxFitness *float64 `json:"max_fitness"`
}

// statusFields has the fields of Status without its methods.
type statusFields Status

// MarshalJSON writes a MaxFitness of -Inf as null.
func (s Status) MarshalJSON() ([]byte, error) {
	return json.Marshal(statusFile{statusFields(s), Finite(s.MaxFitness)})
}

// UnmarshalJSON reads what MarshalJSON writes. Unknown fields are ignored.
func (s *Status) UnmarshalJSON(data []byte) error {
	file := statusFile{statusFields: statusFields(*s)}
	if err := json.Unmarshal(data, &file); err != nil {
		return names.JSON(err)
	}
	if file.Generation < 0 || file.Evaluations < 0 || file.EnvSteps < 0 || file.Seconds < 0 || file.CPUSeconds < 0 {
		return errors.New("its counters are negative")
	}
	*s = Status(file.statusFields)
	s.MaxFitness = math.Inf(-1)
	if file.MaxFitness != nil {
		s.MaxFitness = *file.MaxFitness
	}
	return nil
}
