package session

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/cell"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// startPart is the part of a configuration that has the hash of the genotypes that a run starts
// from.
const startPart = "start"

// changed says which code of the user may have changed since the newest other run with the same name,
// environment, seed and hyperparameters, and when that ran. It returns "" if there is no such run.
func (t Training) changed() string {
	c := t.Config
	if len(c.Parts) == 0 {
		return ""
	}
	found, _, err := runs.Find(t.Spec.Runs, fmt.Sprintf("%s-%s-%d-*", c.Algorithm, c.Env, c.Seed))
	if err != nil {
		return ""
	}
	var newest *runs.Run
	for _, run := range found {
		other := run.Config
		other.Parts = c.Parts
		if run.Name() != c.Name() && other.Name() == c.Name() && run.Config.Parts[startPart] == c.Parts[startPart] &&
			(newest == nil || run.Status.Updated.After(newest.Status.Updated)) {
			newest = run
		}
	}
	if newest == nil {
		return ""
	}
	when := ", which saved no generation" // such as one that was interrupted while it was compiled
	if saved := newest.Status.Updated; !saved.IsZero() {
		when = " of " + saved.Local().Format("2 January 2006, 15:04")
	}
	return fmt.Sprintf("its code (%s) changed since %s%s", strings.Join(t.Own, ", "), newest.Name(), when)
}

// outdated says which outputs of a notebook show other settings than those of a run that a cell now trains or
// loads, or the same run before it trains on. found is the run's folder as it is; nil: there is none.
func (t Training) outdated(found *runs.Run, seeds int) {
	shown := cell.Shown()
	if generation, ok := shown[cell.Path(t.Dir())]; ok {
		if found != nil && found.Status.Finished && !found.Status.Completes(t.Spec.Budget, seeds) {
			fmt.Fprintf(os.Stderr, "qdnb: outputs of this notebook show %s at generation %d, from which it now trains on: "+
				"rerun their cells\n", t.Config.Name(), generation)
		}
		return
	}
	for _, dir := range slices.Sorted(maps.Keys(shown)) {
		run, err := runs.Open(dir)
		if err == nil && run.Config.Algorithm == t.Config.Algorithm && run.Config.Env == t.Config.Env &&
			run.Config.Seed == t.Config.Seed && t.Config.SkillsRun() == "" { // a run of skills has a run for each change
			fmt.Fprintf(os.Stderr, "qdnb: outputs of this notebook show %s, a run with other settings than the Spec "+
				"(%s): rerun their cells if they should show the Spec's\n",
				run.Name(), strings.Join(run.Config.Differences(t.Config), ", "))
		}
	}
}

// evaluates returns a hash of the code of the simulator's function; "" without such code.
func (t Training) evaluates() string {
	simulator, ok := envs.Inner(t.Env).(*envs.Simulator)
	if !ok || simulator.Evaluate == nil {
		return ""
	}
	code := xla.Code(simulator.Evaluate)
	if code == "" {
		return ""
	}
	return hash([]byte(code))
}

// edited says that a run was trained with other code of its simulator, which is no part of its identity.
func (t Training) edited(run *runs.Run) {
	if code := t.evaluates(); code != "" && run.Status.Evaluate != "" && run.Status.Evaluate != code {
		fmt.Fprintf(os.Stderr, "qdnb: Evaluate of %s was edited after %s was trained with it: Fresh (of the Spec) trains "+
			"that run again, and another Facts.Name makes a new one\n", t.Config.Env, run.Name())
	}
}

// imported names an imported run of the same algorithm and environment from which the run could start;
// "" if there is none, or if it starts from one.
func (t Training) imported() string {
	found, _, err := runs.Find(t.Spec.Runs, fmt.Sprintf("%s-%s-*", t.Config.Algorithm, t.Config.Env))
	if err != nil || t.Config.Parts[startPart] != "" {
		return ""
	}
	for _, run := range found {
		same := run.Config.Algorithm == t.Config.Algorithm && run.Config.Env == t.Config.Env // not arm-2 for arm
		if same && run.Status.Backend == runs.Imported && run.HasRepertoire() {
			return run.Name()
		}
	}
	return ""
}
