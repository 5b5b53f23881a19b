package runs

import (
	"strings"
	"testing"
)

// Configurations with the same name prefix are listed with their differences.
func TestLoadListsTheCandidates(t *testing.T) {
	root := t.TempDir()
	for _, batch := range []int{1000, 200} {
		s := defaults()
		s.Batch = batch
		c, err := NewConfig("map-elites", "pointmaze", 0, s)
		if err != nil {
			t.Fatal(err)
		}
		if batch == 200 {
			c.Parts = map[string]string{"emitter": "0123456789abcdef"}
		}
		w, err := Create(root, c)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	_, err := LoadFrom(root, "map-elites-pointmaze-0")
	if err == nil {
		t.Fatal("the first of two is loaded")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `2 runs begin with "map-elites-pointmaze-0"`) {
		t.Fatal(err)
	}
	for _, want := range []string{" (batch=1000, parts.emitter=absent)",
		" (batch=200, parts.emitter=0123456789abcdef)"} {
		if !strings.HasSuffix(lines[1], want) && !strings.HasSuffix(lines[2], want) {
			t.Errorf("%v\nwants %q", err, want)
		}
	}
}
