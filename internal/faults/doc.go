// Package faults is a harness that breaks what runs of qdnb stand on: processes are killed, disks
// are full or cannot be written, files are damaged, plugins are missing. After each the same
// command must go on to the same bytes as if nothing had happened, or say in one line what to do.
// It is slow, and so behind `make test-faults`; docs/faults.md says what was tried.
package faults
