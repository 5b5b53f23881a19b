package cell

import "testing"

func TestLinesBreaksBeforePlacesInCells(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "seed 3: no such file: a.go:1\n": "seed 3: no such file: a.go:1\n",
		"step at /tmp/gonb_1/main.go:12: it fails\n":       "step at /tmp/gonb_1/main.go:12: it fails\n",
		"seed 3: step at /tmp/gonb_1/main.go:12: it fails": "seed 3: step at \n/tmp/gonb_1/main.go:12: it fails",
		"a\nb: /tmp/gonb_1/main_test.go:1\nmain.go:2\n":    "a\nb: \n/tmp/gonb_1/main_test.go:1\nmain.go:2\n",
		"a: main.go:1, main.go:2: main.go:3\n":             "a: \nmain.go:1, \nmain.go:2: \nmain.go:3\n",
		"10:11:12 main.go:7: x":                            "10:11:12 \nmain.go:7: x",
	} {
		if got := Lines(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
