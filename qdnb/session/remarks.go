package session

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/scoring"
)

// remark counts evaluations that the task does not provide for, and says once what they mean. The
// offsets of built-in environments are the paper's, also where a fitness lies below.
func (s *session) remark(o scoring.Outcome) {
	task := s.search.Task()
	spec, allowed := task.Env.Spec(), -task.QDOffset()
	custom := !slices.Contains(envs.Names(), spec.Name)
	if custom && o.Lowest < allowed-1e-5*math.Abs(allowed) {
		s.bar.Once("%s: fitness %g in generation %d is below %g, the lowest that the Offset of %s "+
			"allows: it lowers the QD score, and CMA-MAE and DCRL-MAP-Elites ignore it; Offset must be at "+
			"least %.4g (per step)", s.Config.Name(), o.Lowest, o.Generation, allowed+0, spec.Name,
			roundUp(-o.Lowest/float64(task.Length)))
	}
	for k, objective := range spec.Objectives[:min(len(spec.Objectives), len(o.LowestReturns))] {
		lowest, reference := float64(o.LowestReturns[k]), spec.ReferencePoint(task.Length)[k]
		if lowest < reference-1e-5*math.Abs(reference) {
			s.bar.Once("%s: a return of %g in objective %q in generation %d is below %g, which the Lowest "+
				"reward of %s allows: hypervolumes leave it out; Lowest must be at most %.4g (per step)",
				s.Config.Name(), lowest, objective.Name, o.Generation, reference, spec.Name, -roundUp(-lowest/float64(task.Length)))
		}
	}
	if s.status.Outside += int64(o.Outside); o.Outside > 0 {
		s.bar.Once("%s: %d of %d evaluations in generation %d have descriptors outside of the limits "+
			"of %s, %s: they enter cells at the border; set Lower and Upper of its Descriptor to "+
			"what episodes reach", s.Config.Name(), o.Outside, o.Evaluated, o.Generation, spec.Name,
			spec.Descriptor.Ranges(func(k int) bool { return o.Beyond[k] > 0 }))
	}
	if s.status.Invalid += int64(o.Invalid + o.Dropped); o.Invalid > 0 {
		s.bar.Once("%s: %d of %d evaluations in generation %d were not finite, and are left out; %s",
			s.Config.Name(), o.Invalid, o.Evaluated, o.Generation, s.advice())
	}
	if o.Dropped > 0 {
		s.bar.Once("%s: %d steps of training up to iteration %d were not finite, and are left out; see "+
			"envtest.Check", s.Config.Name(), o.Dropped, o.Generation)
	}
}

// advice says what to look at when evaluations make no sense.
func (s *session) advice() string {
	if _, ok := s.Env.(*envs.Simulator); ok {
		return "see what the simulator returned"
	}
	if _, ok := envs.Robot(s.Env); ok {
		return "if the robot is unstable, use a smaller timestep, softer gains or more armature in its XML"
	}
	if own := slices.DeleteFunc(slices.Clone(s.Own), func(field string) bool { return field == "Environment" }); len(own) > 0 {
		return fmt.Sprintf("see whether your code (%s) returns finite numbers, and envtest.Check", strings.Join(own, ", "))
	}
	return "see envtest.Check"
}

// remarkSize says once that an archive, or the grid of its filled cells, hardly grows: then no search takes
// place, although the run ends as complete. Learners search by gradients instead.
func (s *session) remarkSize(o scoring.Outcome, filled int) {
	size, columns := filled, s.search.Columns()
	if i := slices.Index(columns, "archive_size"); i >= 0 {
		if i < len(o.Extra) {
			size = int(o.Extra[i])
		}
		if s.largest == 0 { // an extinction may have left few of many
			s.largest = 2
			if table, err := s.writer.Metrics(); err == nil {
				for _, row := range table.Rows {
					s.largest = max(s.largest, int(row[len(Columns)+i]))
				}
			}
		}
		s.largest = max(s.largest, size)
		if s.largest > 2 {
			return
		}
	} else if slices.Contains(columns, records.EvaluationSteps) {
		return
	}
	if valid := s.status.Evaluations - s.status.Invalid; (o.Generation >= 10 || s.done()) && size <= 2 && valid >= 100 {
		s.bar.Once("%s: after %d generations and %d evaluations the archive holds %d of them, because their "+
			"descriptors are nearly equal: perhaps episodes end at once, or observations do not change; %s",
			s.Config.Name(), o.Generation, valid, size, s.advice())
	}
}

// remarkUpdates says once that a complete run of a learner made no update.
func (s *session) remarkUpdates(o scoring.Outcome) {
	columns := s.search.Columns()
	of := func(name string) bool {
		i := slices.Index(columns, name)
		return i >= 0 && i < len(o.Extra) && o.Extra[i] == 0
	}
	if s.done() && of("critic_loss") && of("actor_loss") && slices.Contains(columns, "alpha_loss") {
		s.bar.Once("%s: the networks were not updated up to the end, so the skills are those of random networks: lower "+
			"warmup_steps, raise grad_updates_per_step, or extend the budget", s.Config.Name())
	}
}

// roundUp rounds a number to three digits; upwards, so that it stays an upper bound.
func roundUp(x float64) float64 {
	digit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-2)
	return math.Ceil(x/digit) * digit
}
