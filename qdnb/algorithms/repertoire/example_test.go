package repertoire_test

import (
	"fmt"
	"log"

	"example.com/qdnb/qdnb/algorithms/repertoire"
)

// One cell has its centroid at the mean of the samples.
func ExampleCVT() {
	cvt := repertoire.CVT{Cells: 1, CVTSamples: 10_000}
	centroids, err := cvt.Centroids([]float32{-1, 0}, []float32{3, 8})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", centroids.Data)
	_, err = repertoire.CVT{Cells: 1024, CVTSamples: 50}.Centroids([]float32{0}, []float32{1})
	fmt.Println(err)
	// Output:
	// [1.0 4.0]
	// cvt_samples must be between 1024 and 16777216, not 50
}
