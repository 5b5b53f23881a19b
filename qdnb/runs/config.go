package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/parts"
)

// Config determines every generation of a run. It excludes the budget, the run's location, logging
// and the machine.
type Config struct {
	Algorithm string `json:"algorithm"` // such as "map-elites"
	Env       string `json:"env"`       // such as "pointmaze"
	Seed      int64  `json:"seed"`
	// Hyperparameters is the algorithm's typed settings as a JSON object; see NewConfig and Settings.
	Hyperparameters json.RawMessage `json:"hyperparameters"`
	// Parts are hashes of what user-supplied parts build, by part name such as "emitter"; none if all
	// code is qdnb's.
	Parts map[string]string `json:"parts,omitempty"`
}

// NewConfig makes a configuration from the algorithm's settings, a struct with JSON names and perhaps
// parts.
func NewConfig(algorithm, env string, seed int64, settings any) (Config, error) {
	data, err := parts.Marshal(settings)
	if err != nil {
		return Config{}, fmt.Errorf("cannot encode the settings of %s as JSON: %w", algorithm, err)
	}
	c := Config{Algorithm: algorithm, Env: env, Seed: seed, Hyperparameters: data}
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c.Canonical()
}

// Canonical returns the configuration with equal hyperparameters spelt equally.
func (c Config) Canonical() (_ Config, err error) {
	c.Hyperparameters, err = canonical(c.hyperparameters())
	return c, err
}

// Settings decodes the hyperparameters into a pointer to the algorithm's settings; see [Decode].
func (c Config) Settings(settings any) error {
	if err := Decode(c.hyperparameters(), settings); err != nil {
		return fmt.Errorf("hyperparameters of %s: %w", c.Algorithm, err)
	}
	return nil
}

// Assignments returns the hyperparameters in the form of [Set], by name, without the excepted ones.
func (c Config) Assignments(except ...string) (list []string, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(c.hyperparameters(), &fields); err != nil {
		return nil, fmt.Errorf("hyperparameters of %s: %w", c.Algorithm, err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var text string
		if json.Unmarshal(fields[name], &text) != nil {
			var compact bytes.Buffer
			_ = json.Compact(&compact, fields[name]) // it is JSON
			text = compact.String()
		}
		if !slices.Contains(except, name) {
			list = append(list, name+"="+text)
		}
	}
	return list, nil
}

// Differences lists the settings of a configuration that differ in another one, as in "batch=1000, not 500".
func (c Config) Differences(other Config) (list []string) {
	own, _ := c.Assignments() // those of a run are valid
	others, _ := other.Assignments()
	for _, setting := range own {
		name, _, _ := strings.Cut(setting, "=")
		i := slices.IndexFunc(others, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		switch {
		case i < 0:
			list = append(list, setting)
		case others[i] != setting:
			list = append(list, setting+", not "+strings.TrimPrefix(others[i], name+"="))
		}
	}
	for _, setting := range others {
		name, _, _ := strings.Cut(setting, "=")
		if !slices.ContainsFunc(own, func(s string) bool { return strings.HasPrefix(s, name+"=") }) {
			list = append(list, "without "+setting)
		}
	}
	if !maps.Equal(c.Parts, other.Parts) {
		list = append(list, "other code")
	}
	return list
}

// SkillsRun returns the name of the run whose skills a run of adaptation or hierarchical control
// uses; "" if the configuration names none.
func (c Config) SkillsRun() string {
	var settings struct {
		Skills json.RawMessage `json:"skills"` // a number in other runs
	}
	var name string
	if json.Unmarshal(c.hyperparameters(), &settings) == nil {
		_ = json.Unmarshal(settings.Skills, &name)
	}
	return name
}

// fileName matches valid names of algorithms and environments, which become folder names on all
// systems.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._-]{0,99}$`)

// Validate returns an error if a run cannot be stored in a folder: a name is not a valid file name,
// or the hyperparameters are not a JSON object. It does not check that the algorithm and the
// environment exist.
func (c Config) Validate() error {
	for _, field := range [][2]string{{"algorithm or variant", c.Algorithm}, {"environment", c.Env}} {
		if !fileName.MatchString(field[1]) {
			return names.Wrongf("the name of the %s is %s, which cannot be part of a folder's name: use up to 100 letters, "+
				"digits and + . _ -", field[0], names.Quote(field[1]))
		}
	}
	object, err := canonical(c.hyperparameters())
	if err == nil && object[0] != '{' {
		err = fmt.Errorf("%s is not an object", names.Plain(string(object)))
	}
	if err != nil {
		return fmt.Errorf("hyperparameters of %s: %w", c.Algorithm, err)
	}
	return nil
}

// hyperparameters returns the object, which is empty for an algorithm without any.
func (c Config) hyperparameters() []byte {
	if len(c.Hyperparameters) == 0 {
		return []byte("{}")
	}
	return c.Hyperparameters
}

// Hash returns the first eight hexadecimal digits of the SHA-256 of the configuration in canonical
// form: key order and number formatting do not matter.
func (c Config) Hash() string {
	sum := sha256.Sum256(c.canonical())
	return hex.EncodeToString(sum[:4])
}

// Name returns the name of the run's folder, such as "map-elites-pointmaze-0-1a2b3c4d".
func (c Config) Name() string {
	return fmt.Sprintf("%s-%s-%d-%s", c.Algorithm, c.Env, c.Seed, c.Hash())
}

// String is the configuration in JSON, in a line.
func (c Config) String() string { return string(c.canonical()) }

// canonical returns the whole configuration in canonical JSON. Hyperparameters that are not JSON,
// which Validate refuses, count as text.
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

// file returns config.json: the canonical form, indented.
func (c Config) file() ([]byte, error) {
	c, err := c.Canonical()
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(c, "", "  ")
	return append(data, '\n'), err
}

func parseConfig(data []byte) (c Config, err error) {
	if err = Decode(data, &c); err == nil {
		err = c.Validate()
	}
	return c, err
}

// canonical rewrites JSON so that equal values give equal bytes: sorted keys, no white space, one
// number format (1, 1.0 and 1e0 all become 1).
func canonical(data []byte) ([]byte, error) {
	value, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	if value, err = normalise(value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // maps are encoded with sorted keys
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// parseJSON parses exactly one JSON value, keeping numbers as written.
func parseJSON(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, names.JSON(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("not valid JSON: extra data after byte %d", decoder.InputOffset())
	}
	return value, nil
}

func normalise(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return normaliseNumber(v)
	case map[string]any:
		for key := range v {
			if v[key], err = normalise(v[key]); err != nil {
				return nil, fmt.Errorf("%s: %w", names.Plain(key), err)
			}
		}
	case []any:
		for i := range v {
			if v[i], err = normalise(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// normaliseNumber formats 64-bit integers with all their digits, and other numbers with the fewest
// digits that give the same float64.
func normaliseNumber(number json.Number) (json.Number, error) {
	text := string(number)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return json.Number(strconv.FormatInt(i, 10)), nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return json.Number(strconv.FormatUint(u, 10)), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", fmt.Errorf("%s is not a 64-bit number", names.Plain(text))
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return json.Number(strconv.FormatInt(int64(f), 10)), nil
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
}
