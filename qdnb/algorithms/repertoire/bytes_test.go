package repertoire_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/repertoire"
)

// The SHA-256 of the centroids of 1024 cells and 50 000 samples, float32, little endian, row by
// row. Environments whose descriptors have the same limits have the same centroids.
func TestCentroidsAreTheseBytes(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, c := range []struct {
		env  string
		seed int64
		want string
	}{
		{"walker-uni", 0, "42665117c0650dd73b7a7c4c53164b3c57618f2e5b60d96b6f0c7e0f4fa09358"},
		{"walker-uni", 4, "223e5a8a448474fd1209ba9c26bf95c575ea8a937040564510cbbee45ea17cc1"},
		{"ant-uni", 0, "1f59fa2717c1eddf233281a6250c6a3d36c8de7101df313037f8e26511fd2bdc"},
		{"ant-omni", 0, "ee62a1d5604a54c7d4f681e9d376d860816240874501dcbdbd6dfe8b57657017"},
		{"ant-trap", 0, "b6c24b838c95f40d7c64aba545e5ce2e163cc1d0f5823c417787dff05c3cc17b"},
		{"ant-maze", 0, "b473370887b37a1640fb0e450cab96577819f3f75287a7f44b0d061c318f8cee"},
		{"pointmaze", 0, "462c313201cd276d07cedd69f5da95ea840084d89e8c0ffb5d703afa5d3f5356"},
		{"hopper-uni", 0, "343b34a8cc12a8a00b57ffc6ee0f35ebf5d2c63424a1b80730e3016942b5084f"},
		{"rastrigin", 0, "bd2ca538a1bd43bf3d406f505a8ebf049e459923b8e7835b334ab4ba0bd52fb5"},
		{"rastrigin-multi", 0, "f393690f573aa8a4a1ce0c09c2d7185c79b03f6ffafbbea1fa906286c4de4e55"},
	} {
		limits := must.Get(envs.Make(c.env)).Spec().Descriptor
		cvt := repertoire.CVT{Cells: 1024, CVTSamples: 50_000, CVTSeed: c.seed}
		var data bytes.Buffer
		must.Do(binary.Write(&data, binary.LittleEndian, must.Get(cvt.Centroids(limits.Lower, limits.Upper)).Data))
		errtest.Equal(t, c.env, fmt.Sprintf("%x", sha256.Sum256(data.Bytes())), c.want)
	}
}

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
