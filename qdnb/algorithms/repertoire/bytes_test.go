package repertoire_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/repertoire"
)

// centroidBytes holds the SHA-256 of the centroids of 1024 cells and 50 000 samples, float32,
// little endian, row by row, per environment and cvt_seed.
var centroidBytes = map[string]map[int64]string{
	"ant-maze": {
		0: "b473370887b37a1640fb0e450cab96577819f3f75287a7f44b0d061c318f8cee",
		4: "1b23ba90fd40f41c824e7e0cae2a282ab2e60e55d064d0fef3ae2ec96fca27f5",
	},
	"ant-omni": {
		0: "ee62a1d5604a54c7d4f681e9d376d860816240874501dcbdbd6dfe8b57657017",
		4: "968da9d96754682770cc5d820f466e8a0f4b432553b4931d94d6ee2d5781e7fc",
	},
	"ant-trap": {
		0: "b6c24b838c95f40d7c64aba545e5ce2e163cc1d0f5823c417787dff05c3cc17b",
		4: "8952adb618451368870343a874b5a82821fab4df1225931e7d539ecfb3681351",
	},
	"ant-uni": {
		0: "1f59fa2717c1eddf233281a6250c6a3d36c8de7101df313037f8e26511fd2bdc",
		4: "e15abb7b8345b3877a41e30a75a5895f8eeabc95aa90f40d93a46700c01506cd",
	},
	"halfcheetah-uni": {
		0: "42665117c0650dd73b7a7c4c53164b3c57618f2e5b60d96b6f0c7e0f4fa09358",
		4: "223e5a8a448474fd1209ba9c26bf95c575ea8a937040564510cbbee45ea17cc1",
	},
	"pointmaze": {
		0: "462c313201cd276d07cedd69f5da95ea840084d89e8c0ffb5d703afa5d3f5356",
		4: "43ff50f87e714012ecae2a23d054bad4cbbd659bc83693ff19294e569987c3bf",
	},
	"arm": {
		0: "42665117c0650dd73b7a7c4c53164b3c57618f2e5b60d96b6f0c7e0f4fa09358",
		4: "223e5a8a448474fd1209ba9c26bf95c575ea8a937040564510cbbee45ea17cc1",
	},
	"hopper-uni": {
		0: "343b34a8cc12a8a00b57ffc6ee0f35ebf5d2c63424a1b80730e3016942b5084f",
		4: "af81024da258a7d706f8aa43ba456ddee2c52459309025b3dd935c1df34ecd88",
	},
	"rastrigin": {
		0: "bd2ca538a1bd43bf3d406f505a8ebf049e459923b8e7835b334ab4ba0bd52fb5",
		4: "2e8543ddd0375f8728120ea39c422a0bc62d9c42ea40dea9756d5f4acc0e36a4",
	},
	"rastrigin-multi": {
		0: "f393690f573aa8a4a1ce0c09c2d7185c79b03f6ffafbbea1fa906286c4de4e55",
		4: "f1f6f054232bb604048a8a05630b9ca81ea9530ca0054c93b015662559b2c235",
	},
	"sphere": {
		0: "bd2ca538a1bd43bf3d406f505a8ebf049e459923b8e7835b334ab4ba0bd52fb5",
		4: "2e8543ddd0375f8728120ea39c422a0bc62d9c42ea40dea9756d5f4acc0e36a4",
	},
	"walker-uni": {
		0: "42665117c0650dd73b7a7c4c53164b3c57618f2e5b60d96b6f0c7e0f4fa09358",
		4: "223e5a8a448474fd1209ba9c26bf95c575ea8a937040564510cbbee45ea17cc1",
	},
}

func TestCentroidsAreTheseBytes(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, hashes := range centroidBytes {
		env := must.Get(envs.Make(name))
		limits := env.Spec().Descriptor
		for _, seed := range []int64{0, 4} {
			centroids := must.Get(repertoire.CVT{Cells: 1024, CVTSamples: 50_000, CVTSeed: seed}.Centroids(
				limits.Lower, limits.Upper))
			var data bytes.Buffer
			must.Do(binary.Write(&data, binary.LittleEndian, centroids.Data))
			sum := sha256.Sum256(data.Bytes())
			got, want := hex.EncodeToString(sum[:]), hashes[seed]
			if got != want {
				t.Errorf("%s, cvt_seed %d: %s, want %s", name, seed, got, want)
			}
		}
	}
}
