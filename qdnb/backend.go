package qdnb

import (
	"fmt"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Backend opens the backend of a specification (see [xla.Open]; empty for the best there is) and
// describes it. Where XLA:CPU is chosen and not there it is fetched.
func Backend(spec string) (string, error) {
	platform, err := xla.Open(spec)
	if err != nil {
		return "", err
	}
	return platform.String(), nil
}

// Downloads of plugins show a bar, in notebooks too.
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
