package qdnb

import (
	"context"

	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/xla"
)

// Backend opens a backend and describes it. See [xla.Open] for the specification; empty selects the
// best available one. The plugin of XLA:CPU is downloaded if it is selected and missing.
func Backend(ctx context.Context, spec string) (string, error) {
	platform, err := xla.Open(ctx, spec)
	if err != nil {
		return "", err
	}
	return platform.String(), nil
}

// Algorithms lists the names of the algorithms of [Train].
func Algorithms() []string { return registry.Names() }
