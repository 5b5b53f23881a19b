package physics

// EveryWall returns a copy of the system that computes the contacts with all walls.
func (s System) EveryWall() *System {
	groups := append([]contactGroup{}, s.contacts...)
	groups[0].walls = nil
	s.contacts = groups
	return &s
}
