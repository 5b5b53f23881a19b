package repertoire_test

import (
	"fmt"
	"log"

	"example.com/qdnb/qdnb/algorithms/repertoire"
)

// One cell has its centroid at the mean of the samples.
func ExampleCVT() {
	cvt := repertoire.CVT{Cells: 1, Samples: 10_000, Lower: []float32{-1, 0}, Upper: []float32{3, 8}}
	centroids, err := cvt.Centroids()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", centroids)
	_, err = repertoire.CVT{Cells: 1024, Samples: 50, Lower: []float32{0},
		Upper: []float32{1}}.Centroids()
	fmt.Println(err)
	// Output:
	// [1.0 4.0]
	// 1024 cells need at least as many samples, not 50: raise cvt_samples
}
