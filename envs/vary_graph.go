package envs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/xla/random"
)

// Variation is a quantity of a [Rigid] task that is drawn uniformly for each episode: domain randomisation. If all
// ranges of a task are points, it is adjustable: evaluations set the values, as adaptation does, and one program
// serves all of them.
type Variation struct {
	Quantity Perturbation `json:"quantity"`
	// Of names the elements that change: bodies (mass, center), geoms or bodies (friction), the joints of actuators
	// (actuators, gain), joints (damping, armature), or the body to push. nil: all; for actuators [Rigid.Leg], if it has
	// any; for pushes the first free body. Brax's engine changes the masses, frictions and dampings of all elements
	// together, and pushes the whole robot.
	Of    []string   `json:"of,omitempty"`
	Lower []float64  `json:"lower"` // of each component of the quantity
	Upper []float64  `json:"upper"`
	Apart bool       `json:"apart,omitzero"` // each of Of has a value of its own
	Every [2]float64 `json:"every,omitzero"` // the least and the greatest time between pushes, s; {}: 5 to 10 s
}

// String is the quantity and its range, as in "mass/trunk 0.9 to 1.1".
func (v Variation) String() string {
	text := strings.Join(append([]string{string(v.Quantity)}, v.Of...), "/")
	limit := func(x []float64) string {
		x = slices.Clone(x)
		return strings.Trim(fmt.Sprint(slices.Compact(x)), "[]")
	}
	return fmt.Sprintf("%s %s to %s", text, limit(v.Lower), limit(v.Upper))
}

// Vary is a Variation whose components all lie between two limits.
func Vary(quantity Perturbation, lower, upper float64, of ...string) Variation {
	n := len(quantity.Nominal())
	return Variation{Quantity: quantity, Of: of, Lower: slices.Repeat([]float64{lower}, n),
		Upper: slices.Repeat([]float64{upper}, n)}
}

// WithVariations returns a copy of a task of rigid bodies with another name in which quantities are drawn for each
// episode.
func WithVariations(env Env, name string, vary ...Variation) (*Rigid, error) {
	return with(env, name, func(r *Rigid) { r.Vary = vary })
}

// Adjust returns a copy of a task that is adjustable: in gravity, the strength of actuators, the target if it has
// one, what it varies, and other quantities, all at their nominal values until [Rigid.Under] sets others.
func Adjust(env Env, also ...Perturbation) (*Rigid, error) {
	rigid, ok := env.(*Rigid)
	if _, wrapped := Inner(env).(*Rigid); !ok && wrapped {
		return nil, fmt.Errorf("the conditions of %s cannot be part of its state together "+
			"with a fixed start or automatic resets", env.Spec().Name)
	}
	if !ok {
		return nil, names.Wrongf("%s has neither gravity nor actuators nor a target to change", env.Spec().Name)
	}
	r := *rigid
	r.Vary = slices.Clone(rigid.Vary)
	all := []Perturbation{GravityMultiplier, ActuatorsMultiplier}
	if r.Target != nil {
		all = append(all, TargetPosition)
	}
	for _, p := range append(all, also...) {
		if !r.varies(p) {
			r.Vary = append(r.Vary, Variation{Quantity: p})
		}
	}
	for i, v := range r.Vary {
		r.Vary[i].Lower = r.nominal(v.Quantity)
		r.Vary[i].Upper = r.Vary[i].Lower
	}
	return &r, Validate(&r)
}

func (r *Rigid) varies(p Perturbation) bool {
	return slices.ContainsFunc(r.Vary, func(v Variation) bool { return v.Quantity == p })
}

func (r *Rigid) nominal(p Perturbation) []float64 {
	if p == TargetPosition && r.Target != nil {
		return r.Target[:]
	}
	return p.Nominal()
}

// Adjustable reports whether a task has conditions, all of which are set, not drawn.
func (r *Rigid) Adjustable() bool {
	return len(r.Vary) > 0 && !slices.ContainsFunc(r.Vary, func(v Variation) bool { return !slices.Equal(v.Lower, v.Upper) })
}

// Width is the number of values of the conditions.
func (r *Rigid) Width() (n int) {
	for _, v := range r.Vary {
		n += v.width()
	}
	return n
}

func (v Variation) width() int {
	if v.Apart {
		return len(v.Of) * len(v.Lower)
	}
	return len(v.Lower)
}

// Values converts conditions to the numbers that [Rigid.Under] takes, [Rigid.Width] of them. What the conditions
// lack is as the task has it. Conditions that the task does not vary or that are out of range are an error.
func (r *Rigid) Values(c Conditions) (values []float32, err error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Spec().Name, err)
	}
	for _, p := range slices.Sorted(maps.Keys(c)) {
		if p == TargetPosition && r.Target == nil {
			return nil, fmt.Errorf("%s has no target to move: set Target", r.Spec().Name)
		}
		if !r.varies(p) {
			return nil, fmt.Errorf("%s does not vary %s: use Adjust, or add it to Vary", r.Spec().Name, p)
		}
	}
	if at, ok := c[TargetPosition]; ok && (r.Target == nil || !slices.Equal(at, r.Target[:])) {
		if err := checkTarget([2]float64(at), r.Spec()); err != nil {
			return nil, err
		}
	}
	for _, v := range r.Vary {
		value := v.Lower
		if set, ok := c[v.Quantity]; ok {
			value = set
		}
		for i := range v.width() {
			values = append(values, float32(value[i%len(value)]))
		}
	}
	return values, nil
}

// Under sets the conditions of a state at the start of an episode to values, of which there are [Rigid.Width].
func (r *Rigid) Under(s State, values *Node) State {
	s.PhysicsState = append(slices.Clone(s.PhysicsState[:len(s.PhysicsState)-1]), r.broadcast(values, s.Reward))
	if !r.Grounded || !r.varies(TerrainMultiplier) && !r.varies(TerrainOffset) {
		return s
	}
	m := r.View(s)
	m.State = r.land(m.State)
	return r.state(m, s.Reward, s.Done)
}

// broadcast broadcasts values to all copies, [Width, B], like is [B].
func (r *Rigid) broadcast(values, like *Node) *Node {
	return BroadcastToDims(InsertAxes(values, -1), r.Width(), like.Shape().Dimensions[0])
}

// drawConditions returns the conditions of episodes, [Width, B]: drawn from keys, or those of an adjustable task.
func (r *Rigid) drawConditions(keys random.Key, like *Node) *Node {
	var lower, upper []float32
	for _, v := range r.Vary {
		for i := range v.width() {
			lower = append(lower, float32(v.Lower[i%len(v.Lower)]))
			upper = append(upper, float32(v.Upper[i%len(v.Upper)]))
		}
	}
	if r.Adjustable() {
		return r.broadcast(Const(like.Graph(), lower), like)
	}
	share := Transpose(keys.FoldIn(2).Uniform(0, 1, keys.Hi.Shape().Dimensions[0], r.Width()), 0, 1)
	column := func(values []float32) *Node {
		return BroadcastToDims(InsertAxes(Const(share.Graph(), values), -1), share.Shape().Dimensions...)
	}
	from, to := column(lower), column(upper)
	return Add(from, Mul(share, Sub(to, from)))
}

// conditions are what values [Width, B] mean.
type conditions struct {
	algebra.Conditions
	weakened []algebra.Change // actuators, by their joints
	target   []*Node          // x, y; nil: the task's own
	push     []*Node          // speeds, m/s
}

// condition reads values; nil are none.
func (r *Rigid) condition(values *Node) (c conditions) {
	if values == nil {
		return c
	}
	next := 0
	for _, v := range r.Vary {
		of := v.Of
		if len(of) == 0 {
			of = []string{""}
		}
		var rows []*Node
		for i := range v.width() {
			rows = append(rows, Reshape(Slice(values, AxisElem(next+i)), -1))
		}
		next += v.width()
		for i, name := range of {
			value := rows
			if v.Apart {
				value = rows[i*len(v.Lower):][:len(v.Lower)]
			}
			change := algebra.Change{Of: name, By: value[0]}
			switch v.Quantity {
			case GravityMultiplier:
				c.Gravity = value[0]
			case ActuatorsMultiplier:
				c.weakened = append(c.weakened, change)
			case TargetPosition:
				c.target = value
			case MassMultiplier:
				c.Mass = append(c.Mass, change)
			case CenterOffset:
				c.Center = append(c.Center, algebra.Offset{Of: name, By: [3]*Node(value)})
			case FrictionMultiplier:
				c.Friction = append(c.Friction, change)
			case GainMultiplier:
				c.Gain = append(c.Gain, change)
				if _, brax := r.System.(*physics.System); brax {
					joints := []string{name}
					if name == "" {
						joints = slices.Compact(r.System.Actuated())
					}
					for _, joint := range joints {
						c.weakened = append(c.weakened, algebra.Change{Of: joint, By: value[0]})
					}
				}
			case DampingMultiplier:
				c.Damping = append(c.Damping, change)
			case ArmatureMultiplier:
				c.Armature = append(c.Armature, change)
			case PushSpeed:
				c.push = append(c.push, value[0])
			case TerrainMultiplier:
				c.Terrain = value[0]
			case TerrainOffset:
				c.Conditions.TerrainOffset = [2]*Node(value)
			}
		}
	}
	if len(c.weakened) > 0 && r.forces() {
		c.Strength = r.weaken(c.weakened, nil)
	}
	return c
}

// forces reports whether the multipliers of actuators multiply their forces, which are not proportional to inputs,
// as in servos.
func (r *Rigid) forces() bool {
	servo := func(a physics.Actuator) bool { return a.Angle }
	brax, ok := r.System.(*physics.System)
	return !ok || slices.ContainsFunc(brax.Model().Actuators, servo)
}

// weaken multiplies the inputs of actuators [actions, B], or without inputs 1, by the changes of those that they
// are of.
func (r *Rigid) weaken(changes []algebra.Change, input *Node) *Node {
	for _, change := range changes {
		joints := []string{change.Of}
		if change.Of == "" {
			joints = r.Leg
		}
		if change.Of == "" && len(r.Leg) == 0 {
			joints = r.System.Actuated()
		}
		dims := []int{r.System.Actions(), change.By.Shape().Dimensions[0]}
		mask := make([]bool, dims[0])
		for _, i := range r.System.ActionsOf(joints...) {
			mask[i] = true
		}
		hit := BroadcastToDims(InsertAxes(Const(change.By.Graph(), mask), -1), dims...)
		factor := BroadcastToDims(InsertAxes(change.By, 0), dims...)
		if input == nil {
			input = Where(hit, factor, OnesLike(factor))
		} else {
			input = Where(hit, Mul(input, factor), input)
		}
	}
	return input
}

// pushed returns a state with the pushes that are due, and the memory of when the next ones are.
func (r *Rigid) pushed(m StepView) (algebra.State, remembered) {
	k, state := m.memory, m.State
	m = m.on(streamPush)
	next := 0
	pushes := slices.Clone(k.Pushes)
	for _, v := range r.Vary {
		if v.Quantity != PushSpeed {
			continue
		}
		due := Equal(pushes[next], k.Steps)
		angle := Reshape(m.Uniform(-math.Pi, math.Pi, 1), -1)
		speed := Where(due, m.under.push[next], ZerosLike(m.under.push[next]))
		state = r.System.Push(state, slices.Concat(v.Of, []string{""})[0],
			[3]*Node{Mul(speed, Cos(angle)), Mul(speed, Sin(angle)), ZerosLike(speed)})
		pushes[next] = Where(due, Add(k.Steps, r.untilPush(m, v)), pushes[next])
		next++
	}
	k.Pushes = pushes
	return state, k
}

// untilPush draws the number of control steps until the next push, int32 [B].
func (r *Rigid) untilPush(m StepView, v Variation) *Node {
	every := v.Every
	if every == ([2]float64{}) {
		every = [2]float64{5, 10}
	}
	step := r.System.ControlStep()
	n := m.Uniform(every[0]/step, every[1]/step+1, 1)
	return MaxScalar(ConvertDType(Reshape(n, -1), dtypes.Int32), int32(1))
}

// Target returns the target's x and y, m.
func (m StepView) Target() [2]*Node {
	if m.under.target != nil {
		return [2]*Node(m.under.target)
	}
	if m.task == nil || m.task.Target == nil {
		panic(fmt.Errorf("the task has no Target"))
	}
	like := m.State.Parts[0]
	return [2]*Node{ConstAs(like, m.task.Target[0]), ConstAs(like, m.task.Target[1])}
}

func (r *Rigid) checkVariation(v Variation) error {
	for _, limit := range [][]float64{v.Lower, v.Upper} {
		if err := (Conditions{v.Quantity: limit}).Check(); err != nil {
			return err
		}
		if v.Quantity == TargetPosition && (r.Target == nil || !slices.Equal(limit, r.Target[:])) {
			if err := checkTarget([2]float64(limit), r.Spec()); err != nil {
				return err
			}
		}
	}
	for i, low := range v.Lower {
		if low > v.Upper[i] {
			return fmt.Errorf("%s from %g to %g: the lower limits must not exceed the upper ones", v.Quantity, v.Lower, v.Upper)
		}
	}
	if e := v.Every; !(e[0] >= 0 && e[1] >= e[0]) || math.IsInf(e[1], 1) {
		return fmt.Errorf("the pushes are %g to %g s apart (Every): want 0 or more, the least first", e[0], e[1])
	}
	robot, isMuJoCo := r.System.(*mujoco.System)
	paper := slices.Contains([]Perturbation{GravityMultiplier, ActuatorsMultiplier, TargetPosition}, v.Quantity)
	whole := slices.Contains([]Perturbation{MassMultiplier, FrictionMultiplier, DampingMultiplier, PushSpeed}, v.Quantity)
	var kind string
	var known []string
	switch {
	case !isMuJoCo && whole:
		if len(v.Of) > 0 {
			return fmt.Errorf("Brax's engine varies %s of the whole robot only: leave Of empty, or use a robot of MuJoCo's",
				v.Quantity)
		}
	case !isMuJoCo && !paper && v.Quantity != GainMultiplier:
		return fmt.Errorf("Brax's engine cannot vary %s: use a robot of MuJoCo's", v.Quantity)
	case v.Quantity == TargetPosition && r.Target == nil:
		return fmt.Errorf("it has no target to move: set Target")
	case v.Quantity == ActuatorsMultiplier || v.Quantity == GainMultiplier:
		kind, known = "joint with an actuator", r.System.Actuated()
	case v.Quantity == MassMultiplier || v.Quantity == CenterOffset:
		kind, known = "body", robot.BodyNames()[1:]
	case v.Quantity == FrictionMultiplier:
		kind, known = "geom or body", slices.Concat(robot.GeomNames(), robot.BodyNames()[1:])
	case v.Quantity == DampingMultiplier || v.Quantity == ArmatureMultiplier:
		kind, known = "joint", robot.JointNames()
	case v.Quantity == PushSpeed:
		kind, known = "body", robot.BodyNames()[1:]
		if len(v.Of) > 1 || v.Apart {
			return fmt.Errorf("a push is of one body")
		}
		if robot.PushedDof(append(v.Of, "")[0]) < 0 {
			return fmt.Errorf("nothing can be pushed: the body must be on a free joint")
		}
	case v.Quantity == TerrainMultiplier || v.Quantity == TerrainOffset:
		if robot.Terrain() == nil {
			return fmt.Errorf("the robot stands on a plane: give it a Terrain (mujoco.Options, --terrain)")
		}
	}
	if len(v.Of) > 0 && kind == "" && isMuJoCo {
		return fmt.Errorf("%s is not of single elements, such as %s: leave Of empty", v.Quantity, v.Of[0])
	}
	for _, name := range v.Of {
		if !slices.Contains(known, name) {
			return names.Unknown(kind+" to vary "+string(v.Quantity), name, known)
		}
	}
	if v.Apart && len(v.Of) == 0 {
		return fmt.Errorf("%s is Apart, but names none that differ: set Of", v.Quantity)
	}
	return nil
}

// checkTarget checks that a target is finite and lies within the limits of a descriptor that is a
// position.
func checkTarget(target [2]float64, spec Spec) error {
	for axis, c := range target {
		low, high := math.Inf(-1), math.Inf(1)
		if spec.Positions() {
			low, high = float64(spec.Descriptor.Lower[axis]), float64(spec.Descriptor.Upper[axis])
		}
		if !(c > low && c < high) {
			return fmt.Errorf("target (%g, %g) of %s: %c must lie between %g and %g", target[0],
				target[1], spec.Name, "xy"[axis], low, high)
		}
	}
	return nil
}
