package qdnb

import (
	"fmt"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla"
)

// Backend opens a backend and describes it. See [xla.Open] for the specification; empty selects the
// best available one. The plugin of XLA:CPU is downloaded if it is selected and missing.
func Backend(spec string) (string, error) {
	platform, err := xla.Open(spec)
	if err != nil {
		return "", err
	}
	return platform.String(), nil
}

// Plugin downloads show a progress bar, in notebooks too.
func init() {
	var bar *runs.Bar
	xla.Progress = func(label string, done, total int64) {
		if bar == nil {
			bar = runs.NewBar(label, false)
		}
		bar.Update(float64(done)/float64(total), fmt.Sprintf("%d of %d MB", done>>20, total>>20))
		if done >= total {
			bar.Done(fmt.Sprintf("%d MB", total>>20))
			bar = nil
		}
	}
}

// Algorithms lists the names of the algorithms of [Train].
func Algorithms() []string { return session.Algorithms() }
