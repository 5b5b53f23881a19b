package exchange

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
)

// FuzzImport imports arbitrary values as a policy and as a repertoire. An imported run can be read.
func FuzzImport(f *testing.F) {
	f.Add("<f4 12, 0.5",
		"fitnesses <f4 2, 1 -inf\ngenotypes <f4 2,12 0.5\ndescriptors <f4 2,2 0.5\ncentroids <f4 2,2 0.5",
		"hidden=[2]", true)
	f.Add("<f8 17, 1e300",
		"fitnesses <f8 2,1 1\ngenotypes <f4 2,12 nan\ndescriptors <f4 2,2 inf\ncentroids <f4 2,2 0.5",
		"hidden=[2]", false)
	f.Add("<f4 4611686018427387904,0",
		"fitnesses <f4 0,\ngenotypes <f4 0,12\ndescriptors <f4 0,2\ncentroids <f4 0,2", "hidden=[]", true)
	f.Add("|u1 3,", "fitnesses <f4 2, 1\ngenotypes <f4 2,4611686018427387904", "skills=1e9", false)
	f.Add("<f4 \n", "fit\nnesses", "hidden=[16384,16384,16384]", true)
	f.Add("<f4 1,", "", "episode_length=99999999999999999", true)
	f.Fuzz(func(t *testing.T, policy, repertoire, set string, raw bool) {
		dir := t.TempDir()
		asPolicy, asRepertoire := hostile.Array(policy), hostile.Archive(repertoire)
		if raw {
			asRepertoire = []byte(repertoire)
		}
		npy, npz := filepath.Join(dir, "policy.npy"), filepath.Join(dir, "repertoire.npz")
		for path, data := range map[string][]byte{npy: asPolicy, npz: asRepertoire} {
			must.Do(os.WriteFile(path, data, 0o666))
		}
		for _, s := range []ImportSpec{{Algorithm: "diayn", Policy: npy},
			{Algorithm: "map-elites", Repertoire: npz}} {
			s.Env, s.Set, s.Runs = "pointmaze", []string{set}, filepath.Join(dir, "runs")
			hostile.Bounded(t, len(asPolicy)+len(asRepertoire), func() {
				run, err := Import(s)
				hostile.Error(t, err)
				if err != nil {
					return
				}
				if run.HasSkills() {
					_, err = run.Skills()
				} else {
					_, err = run.Repertoire()
				}
				if err != nil {
					t.Errorf("an imported run cannot be read: %v", err)
				}
			})
		}
	})
}
