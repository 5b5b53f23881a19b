package mujoco

// System is a model prepared for building graphs.
type System struct {
	model Model

	poses  []pose // of each body in the frame of its link
	groups []*group
	dofs   []element // dofs of groups, in the order of groups, joints and axes
	places []element // positions, likewise
	drives []drive

	rows     []jointRow
	contacts []*contactSet
	options  Options
}

// Options are choices that MuJoCo's model does not make.
type Options struct {
	// IgnorePairs leaves out pairs of geoms that can collide, but whose contacts the engine does not find.
	// Otherwise they are an error.
	IgnorePairs bool
	// Iterations is the largest number of Newton iterations of a step; 0 means 30. The solver stops when all
	// copies of the system have converged.
	Iterations int
}

// NewSystem prepares a model.
func NewSystem(m Model, options Options) (*System, error) {
	s := &System{model: m, options: options}
	s.layOut()
	s.prepareDrives()
	s.prepareRows()
	if err := s.prepareContacts(options.IgnorePairs); err != nil {
		return nil, err
	}
	return s, nil
}

// Model returns the model of the system. Do not change its arrays.
func (s *System) Model() Model { return s.model }
