package scoring

// Outcome is the result of a generation or an iteration of a search, as the host sees it.
type Outcome struct {
	// Generation is 0 for the initial population, or for the evaluation before the first step.
	Generation  int64
	Evaluations int64 // evaluation episodes so far
	EnvSteps    int64 // environment steps so far: of evaluations, or else of training
	// Fitnesses are the highest in each cell of the measured repertoire, [cells], -Inf where empty;
	// nil if it was not measured.
	Fitnesses []float32
	// Invalid is the number of evaluations with a fitness that is not finite or a NaN descriptor. They
	// never enter.
	Invalid int
	// Extra are the search's own metrics, see its method Columns. Those of skills are means over the
	// iterations since the last evaluation; NaN at first.
	Extra []float64
}
