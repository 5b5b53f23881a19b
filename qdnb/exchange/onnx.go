package exchange

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/protobuf"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
)

// Contract describes an exported ONNX file: what a program needs to run its policies on a robot. What
// the environment does not describe is left out.
type Contract struct {
	Run         string `json:"run"`
	Algorithm   string `json:"algorithm"`
	Environment string `json:"environment"`
	Seed        int64  `json:"seed"`

	Inputs  []TensorContract `json:"inputs"`
	Outputs []TensorContract `json:"outputs"`
	// Normalisation of observations is "none", or "included" if the file normalises them itself: its
	// input is the observation as it is either way.
	Normalisation string  `json:"normalisation"`
	ControlStep   float64 `json:"control_step_s,omitempty"`
	EpisodeLength int     `json:"episode_length,omitempty"` // control steps

	Drive  *DriveContract  `json:"drive,omitempty"`  // what actions become, if they are not the inputs
	Servos []ServoContract `json:"servos,omitempty"` // feedback of the actuators in simulation

	DescriptorComponents []string         `json:"descriptor_components,omitempty"`
	Policies             []PolicyContract `json:"policies"` // by the input policy, or by skill
}

// TensorContract describes an input or an output.
type TensorContract struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Shape      []any            `json:"shape"` // "batch" and numbers
	Meaning    string           `json:"meaning"`
	Limits     *[2]float64      `json:"limits,omitempty"`
	Components []envs.Component `json:"components,omitempty"` // in order
}

// DriveContract describes the inputs of a robot's actuators, into which [envs.Rigid].Drive turns actions:
// offset + matrix * action. Both are left out of a Drive that is not of this form.
type DriveContract struct {
	Meaning string           `json:"meaning"`
	Inputs  []envs.Component `json:"inputs"` // in order
	Offset  []float32        `json:"offset,omitempty"`
	Matrix  [][]float32      `json:"matrix,omitempty"` // a row for each input
}

// ServoContract is the feedback of an actuator whose inputs are angles in degrees: torque = strength * (input - angle), in
// radians.
type ServoContract struct {
	Joint    string  `json:"joint"`
	Strength float64 `json:"strength"`
}

// actuation describes how actions move a robot.
func (c *Contract) actuation(env envs.Env) error {
	rigid := envs.RigidOf(env)
	if rigid == nil {
		return nil
	}
	function := rigid.Drive
	brax, ok := rigid.System.(*physics.System)
	if !ok && function == nil {
		function = rigid.System.Drive
	}
	if ok {
		for _, a := range brax.Model().Actuators {
			if a.Angle {
				c.Servos = append(c.Servos, ServoContract{a.Joint, a.Strength})
			}
		}
	}
	if function == nil || envs.Described(env).ActionComponents != nil {
		return nil
	}
	drive := DriveContract{Inputs: rigid.Inputs(), Meaning: "inputs = offset + matrix * action"}
	var err error
	if drive.Offset, drive.Matrix, err = affine(function, len(drive.Inputs)); err != nil {
		return fmt.Errorf("Drive of %s: %w", c.Environment, err)
	}
	if drive.Matrix == nil {
		drive.Meaning = "inputs = Drive(action), which is not offset + matrix * action: write it down for the robot"
	}
	c.Drive = &drive
	return nil
}

// affine returns the offset and the matrix of a function of actions in [-1, 1], [n, B], which is
// evaluated; nil if it is not affine.
func affine(drive func(*graph.Node) *graph.Node, n int) (offset []float32, matrix [][]float32, err error) {
	p, err := xla.Open(context.Background(), string(backend.Go))
	if err != nil {
		return nil, nil, err
	}
	probes := 1 + 2*n + 16 // 0, unit vectors, and others
	at, rng := make([]float32, n*probes), rand.New(rand.NewPCG(1, 2))
	for k := range probes {
		for i := range n {
			switch {
			case k == 1+i:
				at[i*probes+k] = 1
			case k > 2*n:
				at[i*probes+k] = 2*rng.Float32() - 1
			case k == 1+n+i:
				at[i*probes+k] = -1
			}
		}
	}
	in := xla.FromFloats(at, n, probes)
	defer in.Free()
	program, err := xla.Compile(p, "drive", in, func(in xla.Array) xla.Array { return xla.Out(drive(in.Tree)) })
	if err != nil {
		return nil, nil, err
	}
	found, err := program.Run(in)
	if err != nil {
		return nil, nil, err
	}
	defer found.Free()
	out, err := found.Floats()
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		row, of := make([]float32, n), out[i*probes:][:probes]
		for j := range n {
			row[j] = (of[1+j] - of[1+n+j]) / 2
		}
		offset, matrix = append(offset, of[0]), append(matrix, row)
		for k, want := range of {
			sum, size := float64(of[0]), math.Abs(float64(of[0]))
			for j := range n {
				term := float64(row[j] * at[j*probes+k])
				sum, size = sum+term, size+math.Abs(term)
			}
			if !(math.Abs(sum-float64(want)) <= 1e-5*size) { // also if NaN
				return nil, nil, nil
			}
		}
	}
	return offset, matrix, nil
}

// PolicyContract describes a policy by its evaluation in training.
type PolicyContract struct {
	Cell       *int      `json:"cell,omitempty"`
	Skill      *int      `json:"skill,omitempty"`
	Fitness    *float64  `json:"fitness,omitempty"`
	Descriptor []float32 `json:"descriptor,omitempty"`
}

func (n network) actions() int {
	out := n.sizes[len(n.sizes)-1]
	if n.shared {
		out /= 2
	}
	return out
}

func (s ExportSpec) contract(run *runs.Run, n network) ([]byte, error) {
	if n.sizes[0] == 0 {
		return nil, fmt.Errorf("%s has no observations, so its solutions are no networks: export to an .npz file", run.Config.Env)
	}
	spec := envs.Spec{Observations: n.sizes[0] - n.skills, Actions: n.actions()}
	spec.Descriptor.Components = run.Status.Descriptor
	env := s.Environment
	if env == nil {
		env, _ = policies.Environment(run) // an error for a custom one
	}
	if env != nil {
		known := envs.Described(env)
		if known.Name != run.Config.Env || known.Observations != spec.Observations || known.Actions != spec.Actions {
			return nil, fmt.Errorf("%s with %d observations and %d actions is not the environment of %s: %s with %d "+
				"and %d", known.Name, known.Observations, known.Actions, run.Name(), run.Config.Env, spec.Observations, spec.Actions)
		}
		spec = known
	}
	if len(spec.ObservationComponents) != spec.Observations { // a wrapper changed the number
		spec.ObservationComponents = nil
	}
	if len(spec.ActionComponents) != spec.Actions {
		spec.ActionComponents = nil
	}
	c := Contract{Run: run.Name(), Algorithm: run.Config.Algorithm, Environment: run.Config.Env,
		Seed: run.Config.Seed, Normalisation: "none", ControlStep: spec.ControlStep, Policies: n.list,
		DescriptorComponents: spec.Descriptor.Components,
		Inputs: []TensorContract{{Name: "observation", Type: "float32", Shape: []any{"batch", spec.Observations},
			Meaning: "observation of each robot", Components: spec.ObservationComponents}},
		Outputs: []TensorContract{{Name: "action", Type: "float32", Shape: []any{"batch", spec.Actions},
			Meaning: "action of each robot, for one control step", Limits: &[2]float64{-1, 1},
			Components: spec.ActionComponents}}}
	if n.normalises {
		c.Normalisation = "included"
	}
	if env != nil {
		if err := c.actuation(env); err != nil {
			return nil, err
		}
	}
	settings := struct {
		EpisodeLength *int `json:"episode_length"`
	}{&c.EpisodeLength}
	if err := json.Unmarshal(run.Config.Hyperparameters, &settings); err != nil {
		return nil, fmt.Errorf("cannot read the settings of %s: %w", run.Name(), err)
	}
	if n.skills > 0 {
		c.Inputs = append(c.Inputs, TensorContract{Name: "skill", Type: "float32", Shape: []any{"batch", n.skills},
			Meaning: "one-hot skill"})
	}
	if n.batched {
		c.Inputs = append(c.Inputs, TensorContract{Name: "policy", Type: "int64", Shape: []any{"batch"},
			Meaning: "index into policies", Limits: &[2]float64{0, float64(len(n.rows) - 1)}})
	}
	text, err := json.MarshalIndent(c, "", "  ")
	return append(text, '\n'), err
}

// Numbers of types in ONNX (onnx/onnx.proto, TensorProto.DataType, AttributeProto.AttributeType).
const (
	onnxFloat, onnxInt64 = 1, 7
	onnxInt              = 2 // an attribute
	onnxIR, onnxOpset    = 7, 13
)

// onnx returns a ModelProto, and adds the shapes of its arrays to shapes.
func (n network) onnx(name string, shapes map[string][]int) ([]byte, error) {
	if size := 4 * int64(len(n.rows[0])) * int64(len(n.rows)); size > 2e9 {
		return nil, fmt.Errorf("the policies of %s have %d MB, more than the 2 GB of an ONNX file: export them to "+
			"an .npz file", name, size/1e6)
	}
	var nodes, graph protobuf.Message
	add := func(op, output string, attributes protobuf.Message, inputs ...string) string {
		var m protobuf.Message
		for _, input := range inputs {
			m = m.Text(1, input)
		}
		m = append(m.Text(2, output).Text(3, output).Text(4, op), attributes...)
		nodes = nodes.Bytes(1, m)
		return output
	}
	tensor := func(name string, kind int64, data []byte, dims ...int) string {
		var m protobuf.Message
		for _, d := range dims {
			m = m.Int(1, int64(d))
		}
		graph = graph.Bytes(5, m.Int(2, kind).Text(8, name).Bytes(9, data))
		return name
	}
	x := "observation"
	axis := func(i int64) protobuf.Message {
		return protobuf.Message(nil).Bytes(5, protobuf.Message(nil).Text(1, "axis").Int(3, i).Int(20, onnxInt))
	}
	if n.skills > 0 {
		x = add("Concat", "input", axis(1), x, "skill")
	}
	if n.normalises {
		for k, op := range []string{"Sub", "Div"} {
			name, dims := []string{"input.mean", "input.deviation"}[k], []int{n.sizes[0]}
			if n.batched {
				dims = []int{len(n.rows), n.sizes[0]}
			}
			shapes[name] = dims
			by := tensor(name, onnxFloat, floatBytes(n.inputs(k)), dims...)
			if n.batched {
				by = add("Gather", name+".own", axis(0), by, "policy")
			}
			x = add(op, "input."+strings.ToLower(op), nil, x, by)
		}
		x = add("Clip", "input", nil, x, tensor("input.low", onnxFloat, floatBytes([]float32{-nn.NormalisedLimit})),
			tensor("input.limit", onnxFloat, floatBytes([]float32{nn.NormalisedLimit})))
	}
	if n.batched {
		tensor("one", onnxInt64, binary.LittleEndian.AppendUint64(nil, 1), 1)
		x = add("Unsqueeze", "rows", nil, x, "one") // [batch, 1, observations]
	}
	offset, last := 0, len(n.sizes)-2
	for layer := range last + 1 {
		in, out := n.sizes[layer], n.sizes[layer+1]
		used := out
		if layer == last {
			used = n.actions()
		}
		bias, kernel := fmt.Sprintf("layer_%d.bias", layer), fmt.Sprintf("layer_%d.kernel", layer)
		output := fmt.Sprintf("layer_%d", layer)
		shapes[bias], shapes[kernel] = []int{used}, []int{in, used}
		if n.batched {
			shapes[bias], shapes[kernel] = []int{len(n.rows), 1, used}, []int{len(n.rows), in, used}
		}
		tensor(bias, onnxFloat, n.block(offset, 1, out, used), shapes[bias]...)
		tensor(kernel, onnxFloat, n.block(offset+out, in, out, used), shapes[kernel]...)
		if offset += out + in*out; n.batched {
			own := add("Gather", kernel+".own", axis(0), kernel, "policy")
			x = add("MatMul", output+".product", nil, x, own)
			x = add("Add", output, nil, x, add("Gather", bias+".own", axis(0), bias, "policy"))
		} else {
			x = add("Gemm", output, nil, x, kernel, bias)
		}
		if layer < last {
			x = add("Relu", output+".relu", nil, x)
		}
	}
	if n.batched {
		x = add("Squeeze", "means", nil, x, "one")
	}
	add("Tanh", "action", nil, x)

	value := func(field int, name string, kind int64, dims ...int64) {
		shape := protobuf.Message(nil).Bytes(1, protobuf.Message(nil).Text(2, "batch"))
		for _, d := range dims {
			shape = shape.Bytes(1, protobuf.Message(nil).Int(1, d))
		}
		typed := protobuf.Message(nil).Bytes(1, protobuf.Message(nil).Int(1, kind).Bytes(2, shape))
		graph = graph.Bytes(protobuf.Field(field), protobuf.Message(nil).Text(1, name).Bytes(2, typed))
	}
	const input, output = 11, 12
	value(input, "observation", onnxFloat, int64(n.sizes[0]-n.skills))
	if n.skills > 0 {
		value(input, "skill", onnxFloat, int64(n.skills))
	}
	if n.batched {
		value(input, "policy", onnxInt64)
	}
	value(output, "action", onnxFloat, int64(n.actions()))
	graph = append(nodes.Text(2, name), graph...)
	return protobuf.Message(nil).Int(1, onnxIR).Text(2, "qdnb").Bytes(7, graph).
		Bytes(8, protobuf.Message(nil).Text(1, "").Int(2, onnxOpset)), nil
}

// block returns the first columns of a matrix [rows, width] at an offset of each policy, as bytes.
func (n network) block(offset, rows, width, columns int) (data []byte) {
	for _, row := range n.rows {
		for i := range rows {
			data = append(data, floatBytes(row[offset+i*width:][:columns])...)
		}
	}
	return data
}

func floatBytes(numbers []float32) (data []byte) {
	for _, x := range numbers {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}
