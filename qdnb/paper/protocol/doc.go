// Package protocol holds the facts about the paper's experiments as plain data: its methods and
// their printed names, its environments in the order of its figures, and the grids of its
// sensitivity section. Plans, figures, tables and claims read them here. Facts about the
// environments themselves are in package envs/catalog.
package protocol
