// Package faults is a fault-injection harness for runs of qdnb: it kills processes, fills disks or
// makes them read-only, and damages files. After each fault the same command must resume and produce
// the same bytes as an undisturbed run, or say in one line what to do. The tests are slow and run
// only with `make test-faults`; docs/reliability.md lists what was tried.
package faults
