package watch

import (
	"image/color"
	"math"
	"slices"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/qdnb/plot/scene"
)

// terrainAround is how far from the followed body's way a film shows a terrain, m, and terrainShades the number of its
// colours, which are darker where it is higher.
const terrainAround, terrainShades = 1.2, 6

// addTerrain adds the part of a terrain that an episode is on to its film. under is what the episode multiplies the
// heights with, and by how much it shifts the terrain along -x and -y.
func addTerrain(film *scene.Film, system *mujoco.System, under [3]float64) {
	m := system.Model()
	var way []scene.Vec
	for _, frame := range film.Frames {
		at, last := frame[film.Follow].Position, len(way)-1
		if last < 0 || math.Hypot(at[0]-way[last][0], at[1]-way[last][1]) > 0.1 {
			way = append(way, at)
		}
	}
	heights := slices.Concat(system.Terrain().Heights...)
	lowest, highest := under[0]*slices.Min(heights), under[0]*slices.Max(heights)
	ground := scene.Body{Name: "terrain", Fixed: true, Pose: scene.Pose{Rotation: scene.Quat{1}}}
	for _, plane := range system.Shapes() {
		if m.GeomType[plane.Geom] != mujoco.Plane || plane.Link != 0 {
			continue
		}
		z := plane.Position[2]
		film.Ground = film.Ground && z+lowest >= 0
		for _, block := range system.Terrain().Blocks() {
			low, high := scene.Vec(block.Low), scene.Vec(block.High)
			low[2], high[2] = z+lowest-0.1, z+under[0]*high[2]
			from, to := low, high // what is near some point of the way
			for axis := range 2 {
				from[axis], to[axis] = math.Inf(1), math.Inf(-1)
				low[axis] += plane.Position[axis] - under[1+axis]
				high[axis] += plane.Position[axis] - under[1+axis]
			}
			for _, at := range way {
				var nearest [2]float64
				for axis := range nearest {
					nearest[axis] = min(max(at[axis], low[axis]), high[axis]) - at[axis]
				}
				if math.Hypot(nearest[0], nearest[1]) < terrainAround {
					for axis := range nearest {
						from[axis] = min(from[axis], max(low[axis], at[axis]-terrainAround))
						to[axis] = max(to[axis], min(high[axis], at[axis]+terrainAround))
					}
				}
			}
			if from[0] > to[0] || film.Ground && high[2] <= 0 { // the ground is drawn there
				continue
			}
			shade := 0.0
			if highest > lowest {
				shade = math.Round((under[0]*block.High[2]-lowest)/(highest-lowest)*(terrainShades-1)) / (terrainShades - 1)
			}
			mix := func(light, dark uint8) uint8 {
				return uint8(math.Round(float64(light) + shade*(float64(dark)-float64(light))))
			}
			ground.Shapes = append(ground.Shapes, scene.Shape{Kind: scene.Box, A: from, B: to,
				Color: color.NRGBA{R: mix(0xec, 0xb0), G: mix(0xea, 0xa8), B: mix(0xe4, 0x98), A: 0xff}})
		}
	}
	film.Bodies = append(slices.Clone(film.Bodies), ground)
}
