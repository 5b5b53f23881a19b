package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
)

// The committed tables are those of the structs, and every algorithm is in one. PGA-AURORA has the settings of
// two others.
func TestPagesHaveTheSettings(t *testing.T) {
	const root = "../.."
	missing := append(records.Names(), records.HierarchicalControl)
	missing = slices.DeleteFunc(missing, func(name string) bool { return name == "pga-aurora" })
	for _, path := range must.Get(filepath.Glob(root + "/docs/algorithms/*.md")) {
		page := string(must.Get(os.ReadFile(path)))
		renewed, err := renew(root, page)
		if err != nil || renewed != page {
			t.Errorf("%s: %v; its tables are out of date: run `make docs-settings`", path, err)
		}
		for _, match := range marked.FindAllStringSubmatch(page, -1) {
			missing = slices.DeleteFunc(missing, func(name string) bool {
				return slices.Contains(strings.Fields(match[1]), name)
			})
		}
	}
	if len(missing) > 0 {
		t.Errorf("no table has the settings of %v", missing)
	}
}

// A default is the usual one, then those of other environments.
func TestText(t *testing.T) {
	for want, defaults := range map[string][][2]string{
		"1":                        {{"1", "a"}, {"1", "b"}},
		"2; 1 on a; none on d":     {{"1", "a"}, {"2", "b"}, {"2", "c"}, {"none", "d"}},
		"1 on a; 2 on b":           {{"1", "a"}, {"2", "b"}},
		"250; 1 without physics":   {{"250", "a"}, {"250", "b"}, {"250", "c"}, {"250", "d"}, {"250", "e"}, {"1", "arm"}, {"1", "rastrigin"}, {"1", "rastrigin-multi"}, {"1", "sphere"}},
		"1 on arm; 250 on walkers": {{"1", "arm"}, {"250", "walkers"}},
	} {
		var s setting
		for _, d := range defaults {
			s.add(d[0], d[1])
		}
		if s.settle(); s.text() != want {
			t.Errorf("%v is %q, want %q", defaults, s.text(), want)
		}
	}
}
