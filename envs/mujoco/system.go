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
	equal    []equality
	contacts []*contactSet
	options  Options
	notes    []string
}

// Options are choices that MuJoCo's model does not make.
type Options struct {
	// IgnorePairs leaves out contacts between shapes that the engine does not model, such as cylinders with
	// capsules, and notes it. Otherwise they are an error.
	IgnorePairs bool
	// Iterations is the largest number of Newton iterations of a step; 0 means 30. The solver stops when all
	// copies of the system have converged.
	Iterations int
}

// NewSystem prepares a model. Its errors are those of [Model.Check].
func NewSystem(m Model, options Options) (*System, error) {
	supported, err := m.Check(options)
	if err != nil {
		return nil, err
	}
	s := &System{model: m, options: options, notes: supported.Notes}
	s.layOut()
	s.prepareDrives()
	s.prepareRows()
	s.prepareEqualities()
	s.prepareContacts(supported.Pairs)
	return s, nil
}

// Notes says what moves otherwise than in MuJoCo, and has the compiler's notes.
func (s *System) Notes() []string { return s.notes }

// Model returns the model of the system. Do not change its arrays.
func (s *System) Model() Model { return s.model }
