package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"example.com/qdnb/internal/names"
)

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
		return nil, syntaxError(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("not valid JSON: extra data after byte %d", decoder.InputOffset())
	}
	return value, nil
}

func syntaxError(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not valid JSON: it ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON: %v (byte %d)", syntax, syntax.Offset)
	}
	return err
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
