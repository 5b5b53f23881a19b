package physics_test

import (
	"fmt"
	"math"
	"os"
	"sort"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/npz"
)

var models = map[string]physics.Model{
	"ant-uni":             robots.Ant(physics.Spring),
	"ant-trap":            robots.Trap(robots.Ant(physics.PositionBased)),
	"walker-uni":          robots.Walker2d(),
	"halfcheetah-uni":     robots.HalfCheetah(),
	"halfcheetah-hurdles": robots.Hurdles(robots.HalfCheetah()),
}

func TestTmpSubstep(t *testing.T) {
	for name, m := range models {
		sys, err := physics.NewSystem(m)
		if err != nil {
			t.Fatal(err)
		}
		arrays, err := npz.Read("/work/shared/golden/substep_" + name + ".npz")
		if err != nil {
			t.Fatal(err)
		}
		in := func(n string) *tensors.Tensor {
			f, err := arrays[n].Float32s()
			if err != nil {
				t.Fatal(n, err)
			}
			return tensors.FromFlatDataAndDimensions(f, arrays[n].Shape...)
		}
		var keys []string
		p := xlatest.Best(t)
		if os.Getenv("PURE") != "" {
			p = xlatest.Pure(t)
		}
		out := xlatest.Run(t, p, func(x []*Node) []*Node {
			st := sys.Import(x[0], x[1], x[2], x[3])
			stages := sys.Substep(st, Transpose(x[4], 0, 1))
			for k := range stages {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			var outs []*Node
			for _, k := range keys {
				outs = append(outs, stages[k])
			}
			return outs
		}, in("pos_before"), in("rot_before"), in("vel_before"), in("ang_before"), in("act"))
		for i, k := range keys {
			got := xlatest.Flat[float32](t, out[i])
			if _, ok := arrays[k]; !ok {
				fmt.Println(name, "no golden", k)
				continue
			}
			want, _ := arrays[k].Float32s()
			worst, top := 0.0, 1.0
			for j := range want {
				d := math.Abs(float64(got[j]) - float64(want[j]))
				if math.IsNaN(d) {
					d = math.Inf(1)
				}
				worst = max(worst, d)
				top = max(top, math.Abs(float64(want[j])))
			}
			flag := ""
			if worst/top > 1e-4 {
				flag = "<<<<<<<<<"
			}
			fmt.Printf("%s %s worst %.3g of max %.3g: rel %.2g %s\n", name, k, worst, top, worst/top, flag)
		}
		for k := range arrays {
			if sort.SearchStrings(keys, k) == len(keys) || keys[sort.SearchStrings(keys, k)] != k {
				fmt.Println(name, "not computed", k)
			}
		}
	}
}
