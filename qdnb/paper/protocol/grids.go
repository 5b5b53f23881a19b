package protocol

// HyperparameterGrid is a grid of two hyperparameters in the paper's sensitivity section.
type HyperparameterGrid struct {
	Method   string
	Settings [2]string // names in run configurations
	Symbols  [2]string // in the paper
	Values   [2][]float64
}

// Grids returns the paper's grids.
func Grids() []HyperparameterGrid {
	return []HyperparameterGrid{
		{Method: "map-elites", Settings: [2]string{"iso_sigma", "line_sigma"},
			Symbols: [2]string{"σ1", "σ2"},
			Values:  [2][]float64{{0.001, 0.01, 0.1}, {0.01, 0.1, 1}}},
		{Method: "dads-reward", Settings: [2]string{"diversity_reward_scale", "alpha_init"},
			Symbols: [2]string{"β", "α"}, Values: [2][]float64{{0.1, 1, 10}, {0.1, 0.5, 1}}},
	}
}

// GridOf returns the grid of a method; false if the paper has none.
func GridOf(method string) (HyperparameterGrid, bool) {
	for _, g := range Grids() {
		if g.Method == method {
			return g, true
		}
	}
	return HyperparameterGrid{}, false
}

// GridEnvironments lists the environments of the grids, in the order of the paper's figure 3.
func GridEnvironments() []string {
	return []string{"ant-omni", "halfcheetah-uni", "ant-uni", "walker-uni"}
}
