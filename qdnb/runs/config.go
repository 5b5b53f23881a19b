package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
)

// Config is what determines every generation of a run. How long it runs, where it is kept, what it
// logs and the machine it runs on do not belong here.
type Config struct {
	Algorithm string `json:"algorithm"` // such as "map-elites"
	Env       string `json:"env"`       // such as "pointmaze"
	Seed      int64  `json:"seed"`
	// Hyperparameters is the algorithm's typed settings as a JSON object; see NewConfig and
	// Settings.
	Hyperparameters json.RawMessage `json:"hyperparameters"`
	// Parts are hashes of what parts of the user's own build, by the names of the parts, such as
	// "emitter"; none where all code is qdnb's.
	Parts map[string]string `json:"parts,omitempty"`
}

// NewConfig makes a configuration from the algorithm's settings, a struct with JSON names.
func NewConfig(algorithm, env string, seed int64, settings any) (Config, error) {
	data, err := json.Marshal(settings)
	if err != nil {
		return Config{}, fmt.Errorf("the settings of %s cannot be written as JSON: %w", algorithm, err)
	}
	c := Config{Algorithm: algorithm, Env: env, Seed: seed, Hyperparameters: data}
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	c.Hyperparameters, err = canonical(data)
	return c, err
}

// Settings decodes the hyperparameters into a pointer to the algorithm's settings; see [Decode].
func (c Config) Settings(settings any) error {
	if err := Decode(c.hyperparameters(), settings); err != nil {
		return fmt.Errorf("hyperparameters of %s: %w", c.Algorithm, err)
	}
	return nil
}

// fileName is what the names of algorithms and environments consist of: they become names of
// folders on all systems.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._-]{0,99}$`)

// Validate tells why a run could not be kept in a folder: a name that is not fit for a file, or
// hyperparameters that are not a JSON object. Whether algorithm and environment exist is not known
// here.
func (c Config) Validate() error {
	for _, field := range [][2]string{{"algorithm", c.Algorithm}, {"env", c.Env}} {
		if !fileName.MatchString(field[1]) {
			return fmt.Errorf("%s %s is not a name; use up to 100 letters, digits and + . _ -", field[0],
				names.Quote(field[1]))
		}
	}
	value, err := parseJSON(c.hyperparameters())
	if err == nil {
		value, err = normalise(value)
	}
	if err != nil {
		return fmt.Errorf("hyperparameters of %s: %w", c.Algorithm, err)
	}
	if _, ok := value.(map[string]any); !ok {
		return fmt.Errorf("hyperparameters of %s: %s is not an object", c.Algorithm,
			names.Plain(string(c.Hyperparameters)))
	}
	return nil
}

// hyperparameters gives the object, also of an algorithm that has none.
func (c Config) hyperparameters() []byte {
	if len(c.Hyperparameters) == 0 {
		return []byte("{}")
	}
	return c.Hyperparameters
}

// Hash is the first eight hexadecimal digits of the SHA-256 of the configuration in canonical form:
// the order of keys and the way in which numbers are written do not matter.
func (c Config) Hash() string {
	sum := sha256.Sum256(c.canonical())
	return hex.EncodeToString(sum[:4])
}

// Name is the name of the run's folder, such as "map-elites-pointmaze-0-1a2b3c4d".
func (c Config) Name() string {
	return fmt.Sprintf("%s-%s-%d-%s", c.Algorithm, c.Env, c.Seed, c.Hash())
}

// canonical is the whole configuration with one spelling for one meaning. Hyperparameters that are
// not JSON, which Validate refuses, count as their text.
func (c Config) canonical() []byte {
	hyperparameters, err := canonical(c.hyperparameters())
	if err != nil {
		hyperparameters, _ = json.Marshal(string(c.Hyperparameters))
	}
	c.Hyperparameters = hyperparameters
	data, err := json.Marshal(c)
	if err == nil {
		data, err = canonical(data)
	}
	if err != nil { // strings, a number and valid JSON always encode
		panic(err)
	}
	return data
}

// file is config.json: the canonical form, laid out for people.
func (c Config) file() ([]byte, error) {
	hyperparameters, err := canonical(c.hyperparameters())
	if err != nil {
		return nil, err
	}
	c.Hyperparameters = hyperparameters
	data, err := json.MarshalIndent(c, "", "  ")
	return append(data, '\n'), err
}

// parseConfig reads config.json.
func parseConfig(data []byte) (Config, error) {
	var c Config
	if err := Decode(data, &c); err != nil {
		return Config{}, err
	}
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// differences lists the fields in which two configurations differ, as "batch is 500, not 1000".
func differences(have, want Config) string {
	a, b := map[string]any{}, map[string]any{}
	flatten(have, a)
	flatten(want, b)
	var lines []string
	for _, key := range differing(a, b) {
		lines = append(lines, fmt.Sprintf("%s is %s, not %s", key, show(a[key]), show(b[key])))
	}
	return strings.Join(lines, ", ")
}

// differing lists the keys whose values are not the same in all configurations, see [flatten].
func differing(all ...map[string]any) []string {
	keys := map[string]bool{}
	for _, values := range all {
		for _, some := range []map[string]any{all[0], values} {
			for key := range some {
				if !reflect.DeepEqual(values[key], all[0][key]) {
					keys[key] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

func show(value any) string {
	if value == nil {
		return "absent"
	}
	return fmt.Sprint(value)
}

// flatten lists a configuration's values by name; nested names are joined by dots.
func flatten(c Config, out map[string]any) {
	value, err := parseJSON(c.canonical())
	if err != nil {
		return
	}
	var walk func(prefix string, value any)
	walk = func(prefix string, value any) {
		fields, ok := value.(map[string]any)
		if !ok {
			out[prefix] = value
			return
		}
		for key, field := range fields {
			walk(strings.TrimPrefix(prefix+"."+key, "."), field)
		}
	}
	walk("", value)
}
