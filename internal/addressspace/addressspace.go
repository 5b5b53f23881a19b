// Package addressspace ends a program that imports it if a limit of its address space is too low, in one
// line. With less than 1.3 GB Go's runtime aborts before any Go code runs, with a dump, so that C code
// checks the limit before it starts.
package addressspace

import "C"
