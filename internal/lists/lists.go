// Package lists has functions of slices that package slices lacks.
package lists

import "slices"

// Map returns what a function returns for each element; nil for no elements.
func Map[T, U any](list []T, f func(T) U) (mapped []U) {
	for _, x := range list {
		mapped = append(mapped, f(x))
	}
	return mapped
}

// Convert returns numbers as another type; nil for no numbers.
func Convert[T, S float32 | float64](list []S) []T {
	return Map(list, func(x S) T { return T(x) })
}

// Where returns the elements that satisfy a condition; nil if there are none.
func Where[T any](list []T, wanted func(T) bool) (found []T) {
	for _, x := range list {
		if wanted(x) {
			found = append(found, x)
		}
	}
	return found
}

// With appends an element unless the list has it.
func With[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// Indices returns 0 to n-1.
func Indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
