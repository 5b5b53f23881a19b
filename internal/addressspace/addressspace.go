// Package addressspace ends a program that imports it with a one-line error if the limit of its address
// space is too low. With less than 1.3 GB Go's runtime aborts with a dump before any Go code runs, so C
// code checks the limit first.
package addressspace

import "C"
