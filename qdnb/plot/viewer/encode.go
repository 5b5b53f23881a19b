package viewer

import (
	"bytes"
	"encoding/binary"
	"math"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/qdnb/plot/scene"
)

// The resolution of the motion on a page. At the end of a limb of half a metre, one rotation step
// is half a millimetre.
const (
	finest       = 1e-3 // metres; coarser for films that span more than 65 m
	rotationStep = 1.0 / 2048
)

// pack describes a film, and returns its motion in the format that the page reads (src/motion.js),
// deflated and in base64: eight float32 for each body, which state whether and how it is linked to
// another, and then channels. A channel is a byte, the order of its differences, followed by
// zigzag-coded uint16 values of all frames: first all low bytes, then all high bytes.
//
// The position of a body with a joint follows from the joint, except for the play of the joint.
// Only the difference is stored, which is close to zero.
func pack(f *scene.Film) (p filmed, motion string, err error) {
	low, high := span(f)
	p = filmed{
		Title: f.Title, Subtitle: f.Subtitle, Bodies: len(f.Frames[0]), Frames: len(f.Frames), Seconds: f.Step,
		Follow: f.Follow, Step: finest, Turn: rotationStep, Extent: [2]scene.Vec{low, high}, Standing: inPlane(f),
	}
	if o := f.Outcome; o != nil {
		p.Fitness, p.Descriptor, p.Archived = float32Of(o.Fitness), allFloat32(o.Descriptor), o.Archived
	}
	for d := range 3 {
		p.Origin[d] = (low[d] + high[d]) / 2
		p.Step = max(p.Step, (high[d]-low[d])/65000)
	}
	moving := len(f.Frames[0])
	joints := f.Joints()
	var head []float32
	var channels [][]int16
	seen := make([][]scene.Pose, moving) // as the page decodes them
	for b := range moving {
		rotations, positions := channelsOf(4, f), channelsOf(3, f)
		seen[b] = make([]scene.Pose, len(f.Frames))
		last := scene.Quat{1}
		for t, frame := range f.Frames {
			q := toward(last, frame[b].Rotation)
			for d := range 4 {
				rotations[d][t] = int16(math.Round(q[d] / rotationStep))
				seen[b][t].Rotation[d] = float64(rotations[d][t]) * rotationStep
			}
			seen[b][t].Rotation = unit(seen[b][t].Rotation)
			last = q
		}
		without, sign := redundant(seen[b])
		if without >= 0 {
			for t := range seen[b] {
				q := &seen[b][t].Rotation
				rest := 1.0
				for d := range 4 {
					if d != without {
						q[d] = float64(rotations[d][t]) * rotationStep
						rest -= q[d] * q[d]
					}
				}
				q[without] = float64(sign) * math.Sqrt(max(0, rest))
				*q = unit(*q)
			}
		}
		joint, to, link := joints[b], -1, [6]float32{}
		if joint != nil {
			to = joint.Parent
			for d := range 3 { // the page adds both vectors
				link[d], link[3+d] = float32(joint.InParent[d]), -float32(joint.InBody[d])
			}
		}
		head = append(head, float32(to), float32(sign*(without+1)))
		head = append(head, link[:]...)
		for t, frame := range f.Frames {
			expected := p.Origin
			if joint != nil {
				expected = linked(seen[to][t], seen[b][t].Rotation, joint)
			}
			for d := range 3 {
				n := math.Round((frame[b].Position[d] - expected[d]) / p.Step)
				positions[d][t] = int16(min(max(n, math.MinInt16), math.MaxInt16))
				seen[b][t].Position[d] = expected[d] + float64(positions[d][t])*p.Step
			}
		}
		for d := range rotations {
			if d != without {
				channels = append(channels, rotations[d])
			}
		}
		channels = append(channels, positions...)
	}
	if f.Rewards != nil {
		var sums []float64
		sum, most := 0.0, 0.0
		for _, r := range f.Rewards {
			if finite(r) {
				sum += r
			}
			most = max(most, math.Abs(sum))
			sums = append(sums, sum)
		}
		p.Reward = max(most, 1e-9) / 32000
		channel := make([]int16, len(sums))
		for t, s := range sums {
			channel[t] = int16(math.Round(s / p.Reward))
		}
		channels = append(channels, channel)
	}
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, head); err != nil {
		return p, "", err
	}
	for _, c := range channels {
		raw.Write(encodeChannel(c))
	}
	return p, cell.Deflated(raw.Bytes()), nil
}

func channelsOf(n int, f *scene.Film) [][]int16 {
	channels := make([][]int16, n)
	for d := range channels {
		channels[d] = make([]int16, len(f.Frames))
	}
	return channels
}

func span(f *scene.Film) (low, high scene.Vec) {
	low, high = f.Frames[0][0].Position, f.Frames[0][0].Position
	for _, frame := range f.Frames {
		for _, pose := range frame {
			for d := range 3 {
				low[d], high[d] = min(low[d], pose.Position[d]), max(high[d], pose.Position[d])
			}
		}
	}
	return low, high
}

func inPlane(f *scene.Film) bool {
	for _, frame := range f.Frames {
		for b, pose := range frame {
			if math.Abs(pose.Position[1]-f.Frames[0][b].Position[1]) > 0.02 {
				return false
			}
		}
	}
	return true
}

// toward returns q or -q, which are the same rotation, whichever is nearer, at length 1.
func toward(to, q scene.Quat) scene.Quat {
	q = unit(q)
	if to[0]*q[0]+to[1]*q[1]+to[2]*q[2]+to[3]*q[3] < 0 {
		return scene.Quat{-q[0], -q[1], -q[2], -q[3]}
	}
	return q
}

// redundant returns a component of a body's rotations that the page can compute from the others,
// because it keeps its sign and stays far from 0. It returns -1 and 0 if there is none.
func redundant(poses []scene.Pose) (component, sign int) {
	component = -1
	most := 0.35
	for d := range 4 {
		low, high := poses[0].Rotation[d], poses[0].Rotation[d]
		for _, p := range poses {
			low, high = min(low, p.Rotation[d]), max(high, p.Rotation[d])
		}
		if low > most {
			component, sign, most = d, 1, low
		} else if -high > most {
			component, sign, most = d, -1, -high
		}
	}
	return component, sign
}

// unit returns q scaled to length 1, or the identity for 0.
func unit(q scene.Quat) scene.Quat {
	n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	if !(n > 0) {
		return scene.Quat{1}
	}
	return scene.Quat{q[0] / n, q[1] / n, q[2] / n, q[3] / n}
}

// linked returns the position of a body with the given rotation whose joint holds.
func linked(parent scene.Pose, rotation scene.Quat, j *scene.Joint) scene.Vec {
	at, back := parent.At(j.InParent), scene.Pose{Rotation: rotation}.At(j.InBody)
	for d := range at {
		at[d] -= back[d]
	}
	return at
}

// encodeChannel encodes differences of the order, 0 to 2, that makes them smallest.
func encodeChannel(values []int16) []byte {
	var best []uint16
	bestOrder, least := 0, math.Inf(1)
	for order := range 3 {
		var last, slope int16
		coded, size := make([]uint16, len(values)), 0.0
		for t, v := range values {
			expected := [3]int16{0, last, last + slope}[order]
			d := v - expected // modulo 65536, like the additions of the page
			coded[t] = uint16(d<<1) ^ uint16(d>>15)
			size += math.Log2(1 + float64(coded[t]))
			if t > 0 {
				slope = v - last
			}
			last = v
		}
		if size < least {
			best, bestOrder, least = coded, order, size
		}
	}
	out := make([]byte, 1+2*len(values))
	out[0] = byte(bestOrder)
	for t, c := range best {
		out[1+t], out[1+len(values)+t] = byte(c), byte(c>>8)
	}
	return out
}
