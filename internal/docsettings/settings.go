package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/policies"
)

// unmarked are tasks without physics, which follow the paper's in the search for defaults.
var unmarked = []string{"arm", "rastrigin", "rastrigin-multi", "sphere"}

// setting is a hyperparameter of an algorithm.
type setting struct {
	name, meaning string
	values, envs  []string // different defaults, the usual one first, and their environments
	by            map[string]string
}

// within reports whether another algorithm has the same defaults wherever this one trains.
func (s setting) within(other setting) bool {
	for env, value := range s.by {
		if other.by[env] != value {
			return false
		}
	}
	return true
}

// text is the default, with the environments of those that differ from the usual one.
func (s setting) text() string {
	text := s.values[0]
	if len(s.values) > 1 && !strings.Contains(s.envs[0], ",") { // none is usual
		text += " " + s.envs[0]
	}
	for i, value := range s.values[1:] {
		text += fmt.Sprintf("; %s %s", value, s.envs[1+i])
	}
	return text
}

// add notes a default in an environment.
func (s *setting) add(value, env string) {
	i := slices.Index(s.values, value)
	if i < 0 {
		s.values, s.envs = append(s.values, value), append(s.envs, "")
		i = len(s.values) - 1
	}
	s.envs[i] = strings.TrimPrefix(s.envs[i]+", "+env, ", ")
	if s.by == nil {
		s.by = map[string]string{}
	}
	s.by[env] = value
}

// settle puts the most frequent default first, and names the environments of the others.
func (s *setting) settle() {
	most := 0
	for i, list := range s.envs {
		if strings.Count(list, ",") > strings.Count(s.envs[most], ",") {
			most = i
		}
	}
	s.values[0], s.values[most], s.envs[0], s.envs[most] = s.values[most], s.values[0], s.envs[most], s.envs[0]
	for i, list := range s.envs {
		if s.envs[i] = "on " + list; list == strings.Join(unmarked, ", ") {
			s.envs[i] = "without physics"
		}
	}
}

// settings returns the settings of an algorithm, or of hierarchical control, in the order of its parts.
func settings(c comments, algorithm string) ([]setting, error) {
	if algorithm == records.HierarchicalControl {
		return collect(c, nil, "halfcheetah-uni", policies.DefaultControl().MetaController)
	}
	entry, err := registry.Find(algorithm)
	if err != nil {
		return nil, err
	}
	var all []setting
	for _, env := range slices.Concat(protocol.Environments(), unmarked) {
		if _, err := (qdnb.Spec{Algorithm: algorithm, Env: env}).Config(); err != nil {
			continue // it does not learn there
		}
		made, err := envs.Make(env)
		if err == nil {
			all, err = collect(c, all, env, entry.Defaults(made.Spec()))
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range all {
		all[i].settle()
	}
	return all, nil
}

// collect adds the defaults in an environment to the settings.
func collect(c comments, all []setting, env string, defaults any) ([]setting, error) {
	seen := map[string]bool{}
	for _, part := range parts.Of(defaults) {
		for _, field := range part.Fields() {
			if seen[field.Name] {
				continue
			}
			seen[field.Name] = true
			i := slices.IndexFunc(all, func(s setting) bool { return s.name == field.Name })
			if i < 0 {
				s := setting{name: field.Name}
				owner, f := declared(part.Value.Type(), field.Name)
				var err error
				if s.meaning, err = c.comment(owner, f.Name); err != nil {
					return nil, err
				}
				if s.meaning == "" {
					return nil, fmt.Errorf("%v.%s, the setting %s, has no comment", owner, f.Name, s.name)
				}
				i, all = len(all), append(all, s)
			}
			value, err := written(field.Value)
			if err != nil {
				return nil, err
			}
			all[i].add(value, env)
		}
	}
	return all, nil
}

// declared returns the field of a struct, or of one embedded in it, with a name in JSON, and the struct that
// declares it. A part that is a share has only one.
func declared(t reflect.Type, name string) (reflect.Type, reflect.StructField) {
	for _, field := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			owner := t
			for _, i := range field.Index[:len(field.Index)-1] {
				owner = owner.Field(i).Type
			}
			return owner, field
		}
	}
	field, _ := t.FieldByName("Of")
	return t, field
}

// written is a default as it is set, without the brackets of a list.
func written(value reflect.Value) (string, error) {
	if value.CanFloat() && math.IsNaN(value.Float()) {
		return "NaN", nil
	}
	data, err := json.Marshal(value.Interface())
	if text := strings.Trim(string(data), `[]"`); text != "" {
		return strings.ReplaceAll(text, ",", ", "), err
	}
	return "none", err
}

// comments are the comments of the fields of structs by package and type, read when they are needed.
type comments struct {
	root string
	of   map[string]map[string]string
}

// The publications that a default is from are on the pages.
var (
	published = regexp.MustCompile(`(?is)[;.]\s(?:paper|its publication):.*`)
	sentence  = regexp.MustCompile(`\.\s+[A-Z].*`)
	linked    = regexp.MustCompile(`\[([A-Za-z][\w.]*)\]`)
)

// comment returns the first sentence of the comment of a field, without its name and the paper's value.
func (c comments) comment(t reflect.Type, field string) (string, error) {
	key := t.PkgPath() + "." + t.Name()
	if c.of[key] == nil {
		if err := c.read(t.PkgPath()); err != nil {
			return "", err
		}
	}
	text := strings.Join(strings.Fields(c.of[key][field]), " ")
	for _, begin := range []string{" is the ", " are the ", " is ", " are ", " "} {
		if rest, ok := strings.CutPrefix(text, field+begin); ok {
			text = rest
			break
		}
	}
	text = sentence.ReplaceAllString(published.ReplaceAllString(text, ""), "")
	text = linked.ReplaceAllString(strings.TrimPrefix(text, "number of "), "`$1`")
	return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", `\|`), nil
}

// read parses the structs of a package.
func (c comments) read(pkg string) error {
	dir := filepath.Join(c.root, strings.TrimPrefix(pkg, "example.com/qdnb/"))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				of := map[string]string{}
				for _, field := range fields.Fields.List {
					for _, name := range field.Names {
						if of[name.Name] = field.Doc.Text(); of[name.Name] == "" {
							of[name.Name] = field.Comment.Text()
						}
					}
				}
				c.of[pkg+"."+spec.Name.Name] = of
			}
			return false
		})
	}
	return nil
}

// cell is what a column of a table says of a setting, which may differ between algorithms.
type cell struct {
	texts  []string
	titles [][]string // the algorithms of each text
}

func (c *cell) add(text, algorithm string) {
	i := slices.Index(c.texts, text)
	if i < 0 {
		i = len(c.texts)
		c.texts, c.titles = append(c.texts, text), append(c.titles, nil)
	}
	c.titles[i] = append(c.titles[i], "`"+algorithm+"`")
}

// join joins the texts, and names the algorithms of those that do not hold for a number of them.
func (c *cell) join(algorithms int) string {
	var all []string
	for i, text := range c.texts {
		if len(c.titles[i]) < algorithms && text != "" {
			text += " (" + strings.Join(c.titles[i], ", ") + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, "<br>")
}

// table returns the rows of the settings of algorithms that are not those of another one.
func table(c comments, algorithms []string, like string) (string, error) {
	base := map[string]setting{}
	if like != "" {
		others, err := settings(c, like)
		if err != nil {
			return "", err
		}
		for _, s := range others {
			base[s.name] = s
		}
	}
	type row struct {
		name              string
		defaults, meaning cell
		have              int // algorithms with the setting
	}
	var rows []row
	for _, algorithm := range algorithms {
		list, err := settings(c, algorithm)
		if err != nil {
			return "", err
		}
		at := 0 // settings keep their order
		for _, s := range list {
			if other, ok := base[s.name]; ok && s.within(other) {
				continue
			}
			i := slices.IndexFunc(rows, func(r row) bool { return r.name == s.name })
			if i < 0 {
				i = at
				rows = slices.Insert(rows, i, row{name: s.name})
			}
			at = i + 1
			rows[i].have++
			rows[i].defaults.add(s.text(), algorithm)
			rows[i].meaning.add(s.meaning, algorithm)
		}
	}
	out := "| setting | default | meaning |\n|---|---|---|\n"
	for _, r := range rows {
		out += fmt.Sprintf("| `%s` | %s | %s |\n", r.name, r.defaults.join(len(algorithms)), r.meaning.join(r.have))
	}
	return out, nil
}
