package physics

import (
	"fmt"
	"math"
)

// What [Model.Tuned] allows. A spring of stiffness k and damping c between bodies of effective inverse
// mass w, integrated semi-implicitly in substeps h, is stable if h²wk + 2hwc < 4. Bodies with several
// joints add up the effects of these, hence the margins.
const (
	longestSubstep = 1. / 400 // s
	tunedMargin    = 1.       // of h²wk + 2hwc for springs, dampers and servos of the model
	tunedStiffness = 0.2      // h²wk of joints in spring dynamics
	tunedDamping   = 0.3      // hwc of joints in spring dynamics
	tunedTurn      = 0.3      // rad per substep that a joint may turn under full torque
	maxSubsteps    = 10_000
)

// Tuned returns the model with other dynamics, and with a number of substeps, and for [Spring] dynamics
// with constants of the joints, for which the dynamics are stable. They follow from the effective masses
// at each joint: the springs, dampers and servos about its axes must be stable, and full torque must not
// turn it too far in a substep. Position based dynamics need no constants, so their substeps are longer
// than those of springs of the same accuracy, above all for small masses.
func (m Model) Tuned(d Dynamics) (Model, error) {
	m = m.clone()
	m.Dynamics, m.Substeps, m.Baumgarte = PositionBased, 2, 0
	if err := m.Validate(); err != nil {
		return m, err
	}
	h := longestSubstep
	for _, j := range m.Joints {
		for n := range j.Limits {
			h = min(h, m.axisSubstep(j, n))
		}
	}
	count := math.Ceil(m.TimeStep/h/2-1e-9) * 2
	if !(count <= maxSubsteps) {
		return m, fmt.Errorf("stable dynamics need %g substeps per control step of %g s: masses are too small for "+
			"the torques, springs or dampers", count, m.TimeStep)
	}
	m.Substeps = max(2, int(count))
	if d != Spring {
		return m, nil
	}
	m.Dynamics, m.Baumgarte = Spring, 0.1
	h = m.TimeStep / float64(m.Substeps)
	for i := range m.Joints {
		j := &m.Joints[i]
		pull, turn := m.inverseMassAt(j.Parent, j.ParentOffset)+m.inverseMassAt(j.Child, j.ChildOffset),
			m.largestTurn(j.Parent)+m.largestTurn(j.Child)
		j.Stiffness, j.SpringDamping = tunedStiffness/(h*h*pull), tunedDamping/(h*pull)
		j.Alignment = tunedStiffness / (h * h * turn)
		j.LimitStrength = j.Alignment
		if len(j.Limits) == 1 {
			j.LimitStrength = tunedStiffness / (h * h * m.inverseInertiaAbout(*j, 0))
		}
	}
	return m, m.Validate()
}

// axisSubstep is the longest substep for the forces about an axis of a joint.
func (m Model) axisSubstep(j Joint, n int) float64 {
	var stiffness, torque float64
	damping := j.Damping
	if n < len(j.Passive) {
		p := j.Passive[n]
		stiffness, damping = stiffness+p.Stiffness, damping+p.Damping
	}
	for _, a := range m.Actuators {
		if a.Joint != j.Name || a.Axis != 0 && a.Axis != n+1 {
			continue
		}
		torque = math.Abs(a.Strength)
		if s := a.Servo; s != nil {
			stiffness, damping, torque = stiffness+s.Stiffness, damping+s.Damping, torque+math.Abs(s.Bias)
			if limit := max(-s.MinTorque, s.MaxTorque); limit > 0 {
				torque = min(torque, limit)
			}
		}
	}
	w := m.inverseInertiaAbout(j, n)
	// The positive root of h²wk + 2hwc = margin.
	h := math.Inf(1)
	if stiffness > 0 || damping > 0 {
		h = tunedMargin / (w*damping + math.Sqrt(w*w*damping*damping+tunedMargin*w*stiffness))
	}
	width := min(2*math.Pi, (j.Limits[n][1]-j.Limits[n][0])*degree)
	if speed := math.Sqrt(2 * torque * w * width); speed > 0 {
		h = min(h, tunedTurn/speed)
	}
	return h
}

// inverseInertiaAbout is the relative angular acceleration of a joint's bodies by a torque about its axis.
func (m Model) inverseInertiaAbout(j Joint, n int) (sum float64) {
	unit := Vec{}
	unit[n] = 1
	child := euler(j.Rotation).rotate(unit)
	for _, side := range []struct {
		body string
		axis Vec
	}{{j.Child, child}, {j.Parent, euler(j.Reference).rotate(child)}} {
		inverse := m.tunedBody(side.body).inverseInertia()
		for i, c := range side.axis {
			sum += c * c * inverse[i]
		}
	}
	return sum
}

// tunedBody is a body with its inertia in the engine; a fixed one is immovable.
func (m Model) tunedBody(name string) Body {
	b := m.Bodies[m.Body(name)]
	b.Inertia = m.inertia(b)
	if b.Fixed {
		b.Mass = 0
	}
	return b
}

// inverseMassAt is an upper bound on the inverse mass of a body for a force at a point.
func (m Model) inverseMassAt(name string, at Vec) float64 {
	b := m.tunedBody(name)
	arm := at.length()
	return b.inverseMass() + arm*arm*m.largestTurn(name)
}

// largestTurn is the largest angular acceleration of a body by a torque of 1.
func (m Model) largestTurn(name string) float64 {
	inverse := m.tunedBody(name).inverseInertia()
	return max(inverse[0], inverse[1], inverse[2])
}
