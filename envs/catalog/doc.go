// Package catalog holds the facts about the environments as plain data: their constants ([Spec]),
// walls, goals and targets, and the perturbations of the paper's adaptation experiments. Package envs
// implements the environments; figures and tables read their facts here. It does not import GoMLX, so
// that programs that only draw start in a second.
package catalog
