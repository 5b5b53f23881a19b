package paper

import "example.com/qdnb/qdnb/results"

var curveItems = []Item{
	{ID: "figure-5", Title: "Return of the meta-controller on hurdles", Experiments: []string{results.ExperimentHurdles}, Figure: Hurdles},
}
