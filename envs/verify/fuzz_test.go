package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/xlatest"
)

// FuzzFile verifies any golden file.
func FuzzFile(f *testing.F) {
	const point = "xy_before <f4 1,2 0.1\naction <f4 1,2 0.2\nxy <f4 1,2 0.3\nobs <f4 1,2 " +
		"0.3\nreward <f4 1, -1\ndone <f4 1,\ndesc <f4 1,2 0.3"
	f.Add("onestep_pointmaze.npz", point)
	f.Add("traj_pointmaze.npz",
		"init_xy <f4 1,2 0.1\nactions <f4 1,2,2 0.2\ninit_obs <f4 1,2\nobs <f4 1,2,2\nreward <f4 "+
			"1,2\ndone <f4 1,2\ndesc <f4 1,2,2\nxy <f4 1,2,2")
	f.Add("traj_walker-uni.npz", "init_pos <f4 0,8,3\nactions <f4 4611686018427387904,0,6")
	f.Add("perturb_ant-uni_gravity_2.npz", "parameter <f4 1, 1e300")
	f.Add("perturb_ant-maze_target_3.npz", "parameter <f4 1, 3\ntarget <f4 3, nan")
	f.Add("traj_.npz", "\n")
	p := xlatest.Pure(f)
	f.Fuzz(func(t *testing.T, name, text string) {
		if filepath.Base(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
			return // a user typed the name, and errors quote it verbatim
		}
		path := filepath.Join(t.TempDir(), name)
		data := hostile.Archive(text)
		if os.WriteFile(path, data, 0o666) != nil {
			return // not a valid file name
		}
		hostile.Bounded(t, 4<<10+len(data), func() {
			_, err := File(p, path)
			hostile.Error(t, err)
		})
	})
}
