//go:build cgo

// Package needed has no files without cgo, so that `go build` names its folder there, instead of what
// is then undefined in go-xla.
package needed
