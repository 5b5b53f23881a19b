package limits

// maxRatio is the largest ratio of the ranges of components whose units count alike: those of the
// published tasks are within it.
const maxRatio = 2

// Scale returns the factors of the components of a descriptor between limits when it is assigned to
// the cell of the nearest centroid. It is nil, for factors of 1, unless one range is more than twice
// another: then distances are those in the unit cube, in which the tessellation was made, or a
// component of small numbers would not count.
func Scale(lower, upper []float32) []float32 {
	var factors []float32
	least, most := float32(0), float32(0)
	for k, high := range upper {
		size := high - lower[k]
		if factors = append(factors, 1/size); k == 0 {
			least, most = size, size
		}
		least, most = min(least, size), max(most, size)
	}
	if most <= maxRatio*least {
		return nil
	}
	return factors
}
