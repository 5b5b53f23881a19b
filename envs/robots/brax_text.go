package robots

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// message is a message in protobuf's text format: the values of each field, which are messages or
// the texts of scalars.
type message struct {
	line   int
	fields map[string][]value
	used   map[string]bool
}

type value struct {
	line    int
	text    string
	message *message
}

// textReader reads protobuf's text format. It keeps the first error.
type textReader struct {
	text  string
	line  int
	count int
	err   error
}

func (r *textReader) failf(line int, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: "+format, append([]any{line}, args...)...)
	}
	r.text = ""
}

// next returns the next token, "" at the end.
func (r *textReader) next() string {
	for r.text != "" {
		switch c := r.text[0]; {
		case c == '\n':
			r.line++
			fallthrough
		case c == ' ' || c == '\t' || c == '\r':
			r.text = r.text[1:]
		case c == '#':
			r.text = r.text[strings.IndexByte(r.text+"\n", '\n'):]
		case c == '"' || c == '\'':
			end := strings.IndexAny(r.text[1:], string(c)+"\n\\")
			if end < 0 || r.text[1+end] != c {
				r.failf(r.line, "a string does not end on its line, or has escapes")
				return ""
			}
			token := r.text[:end+2]
			r.text = r.text[end+2:]
			return token
		case strings.IndexByte("{}<>[]:;,", c) >= 0:
			r.text = r.text[1:]
			return string(c)
		default:
			end := strings.IndexAny(r.text, " \t\r\n{}<>[]:;,#\"'")
			if end < 0 {
				end = len(r.text)
			}
			token := r.text[:end]
			r.text = r.text[end:]
			return token
		}
	}
	return ""
}

// read reads fields up to the token end.
func (r *textReader) read(end string, depth int) *message {
	m := &message{line: r.line, fields: map[string][]value{}, used: map[string]bool{}}
	for {
		name := r.next()
		switch {
		case r.err != nil || name == end:
			return m
		case name == ";" || name == ",":
			continue
		case name == "":
			r.failf(r.line, "the text ends inside a message")
			return m
		case strings.Contains("{}<>[]:", name) || depth > maxDepth:
			r.failf(r.line, "%q where the name of a field should be, or messages too deep", name)
			return m
		}
		token, colon := r.next(), false
		if token == ":" {
			token, colon = r.next(), true
		}
		list := token == "["
		if list {
			token = r.next()
		}
		for {
			v := value{line: r.line, text: token}
			closing, nested := map[string]string{"{": "}", "<": ">"}[token]
			switch {
			case nested:
				v.message = r.read(closing, depth+1)
			case !colon || token == "" || strings.Contains("}>]:;,", token):
				if list && token == "]" {
					break
				}
				r.failf(r.line, "the field %s has no value", name)
			}
			if r.count++; r.count > maxElements {
				r.failf(r.line, "more than %d fields", maxElements)
			}
			if r.err != nil {
				return m
			}
			if list && token == "]" {
				break
			}
			m.fields[name] = append(m.fields[name], v)
			if !list {
				break
			}
			if token = r.next(); token == "," {
				token = r.next()
			} else if token != "]" {
				r.failf(r.line, "a list needs commas")
				return m
			}
		}
	}
}

// all returns the messages of a field.
func (m *message) all(r *textReader, name string) (all []*message) {
	if m == nil {
		return nil
	}
	m.used[name] = true
	for _, v := range m.fields[name] {
		if v.message == nil {
			r.failf(v.line, "%s must be a message", name)
			continue
		}
		all = append(all, v.message)
	}
	return all
}

// one returns the message of a field, nil if it is not given.
func (m *message) one(r *textReader, name string) *message {
	if all := m.all(r, name); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// scalar returns the text of a scalar field, "" if it is not given.
func (m *message) scalar(r *textReader, name string) string {
	if m == nil {
		return ""
	}
	m.used[name] = true
	values := m.fields[name]
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	if last.message != nil {
		r.failf(last.line, "%s must not be a message", name)
	}
	return last.text
}

func (m *message) string(r *textReader, name string) string {
	text := m.scalar(r, name)
	if text == "" {
		return ""
	}
	if text[0] != '"' && text[0] != '\'' {
		r.failf(m.line, "%s must be a string", name)
		return ""
	}
	return text[1 : len(text)-1]
}

func (m *message) number(r *textReader, name string) float64 {
	text := m.scalar(r, name)
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(text, "f"), "F"), 64)
	if err != nil || !(x <= 1e18 && x >= -1e18) {
		r.failf(m.line, "%s is %s: it must be a number, at most 1e18", name, text)
		return 0
	}
	return x
}

func (m *message) bool(r *textReader, name string) bool {
	text := m.scalar(r, name)
	if text != "" && text != "true" && text != "false" && text != "1" && text != "0" {
		r.failf(m.line, "%s is %s, not true or false", name, text)
	}
	return text == "true" || text == "1"
}

// vector returns the x, y, z of a field.
func (m *message) vector(r *textReader, name string) (v [3]float64) {
	if inner := m.one(r, name); inner != nil {
		v = [3]float64{inner.number(r, "x"), inner.number(r, "y"), inner.number(r, "z")}
		inner.check(r, name)
	}
	return v
}

// check refuses fields that were not read.
func (m *message) check(r *textReader, what string) {
	for _, name := range slices.Sorted(maps.Keys(m.fields)) {
		if !m.used[name] {
			r.failf(m.fields[name][0].line, "the field %s of %s is not supported", name, what)
		}
	}
}
