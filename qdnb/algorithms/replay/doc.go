// Package replay holds the transitions that learners train on: what a row of them consists of, and
// a ring of rows that stays on the device.
//
// A [Layout] lists the columns of a row; [Layout.Split] cuts rows into the fields of a [Batch] and
// [Layout.Join] puts them together. A [Buffer] keeps the latest rows and draws of them uniformly,
// [Returns] what their episodes are worth so far; a [Store] is a buffer as the host sees it.
package replay
