package physics

// EveryWall returns a copy of the system that computes the contacts with all walls.
func (s System) EveryWall() *System {
	groups := append([]contactGroup{}, s.contacts...)
	groups[0].walls = nil
	s.contacts = groups
	return &s
}

// OneLevel reports whether steps keep all bodies in one level.
func (s *System) OneLevel() bool { return s.oneLevel != nil }

// ByLevel returns a copy of the system that steps its bodies level by level.
func (s System) ByLevel() *System {
	s.oneLevel = nil
	return &s
}
