// Package replay stores the transitions that learners train on: the layout of a row, and a ring
// buffer of rows on the device.
//
// A [Layout] describes a row. [Layout.Split] splits rows into the fields of a [Transitions],
// and [Layout.Join] joins them. A [Buffer] keeps the latest rows and samples them uniformly.
// A [Store] is a buffer as the host sees it.
package replay
