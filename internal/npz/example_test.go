package npz_test

import (
	"fmt"
	"os"
	"path/filepath"

	"example.com/qdnb/internal/npz"
)

func Example() {
	dir, err := os.MkdirTemp("", "npz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "repertoire.npz")

	err = npz.Write(path, map[string]npz.Array{
		"fitnesses": npz.Of([]float32{-3, -1}),
		"genotypes": npz.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3), // two cells of three parameters
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// Read only the fitnesses, and only the shape of the genotypes.
	file, err := npz.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	fitnesses, err := file.Read("fitnesses")
	if err != nil {
		fmt.Println(err)
		return
	}
	dtype, shape, err := file.Header("genotypes")
	fmt.Println(fitnesses.Data, dtype, shape, err)
	// Output: [-3 -1] float32 [2 3] <nil>
}
