// Package algorithms holds the contracts of everything that qdnb.Train trains: an [Algorithm] makes a
// [Search]. The packages below it implement them; package registry lists the algorithms by name.
//
// Five things can be added in one file, or one cell of a notebook. notebooks/variants.ipynb trains four
// of them. Parts are fields of an algorithm's hyperparameters, and Name names the run:
//
//	spec.Name, spec.Tune = "mine", qdnb.Tune(func(h *evolution.MapElites) {
//		h.Mix = evolution.Mix{{evolution.Stateless(swapped), 1}} // emitters, with their shares
//		h.Archive = forgetful{}
//	})
//
// # An emitter
//
// An emitter makes offspring from the archive. Without state it is a function; see package evolution
// for emitters that learn.
//
//	// swapped takes each parameter from one of two parents.
//	func swapped(parents evolution.Parents, keys random.Key) *Node {
//		x1, x2 := parents.Sample(keys.FoldIn(0)), parents.Sample(keys.FoldIn(1)) // [children, N]
//		coin := keys.FoldIn(2).Uniform(0, 1, x1.Shape().Dimensions...)
//		return Where(LessThan(coin, ConstAs(coin, 0.5)), x1, x2)
//	}
//
// # An archive
//
// An archive decides which offspring are kept. It is a value whose fields are its settings and its
// state; see package repertoire.
//
//	// forgetful is a grid in which the fitness of elites decays.
//	type forgetful struct{ repertoire.Grid }
//
//	// Without it, the Empty of Grid would return a Grid, and the Add below would be lost.
//	func (f forgetful) Empty(task scoring.Task, key random.Key) repertoire.Archive {
//		return forgetful{f.Grid.Empty(task, key).(repertoire.Grid)}
//	}
//
//	func (f forgetful) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
//		f.Elites.Fitness = AddScalar(f.Elites.Fitness, -0.1)
//		grid, in := f.Grid.Add(found)
//		return forgetful{grid.(repertoire.Grid)}, in
//	}
//
// # A diversity reward
//
// A diversity reward makes the skills of one policy differ. It is a value, too; see package skills.
//
//	qdnb.Tune(func(h *skills.Parts) { h.Diversity = predictable{LearningRate: 1e-3} })
//
//	// predictable rewards skills whose next state a network predicts from the skill.
//	type predictable struct {
//		LearningRate float64
//		Net          nn.Trainable[nn.Network]
//	}
//
//	func (p predictable) Init(t skills.Problem, key random.Key) skills.Diversity {
//		p.Net = nn.NewTrainable(nn.NewMLP(t.Skills.Size(), []int{64}, t.Width()).New(key), p.LearningRate)
//		return p
//	}
//	func (p predictable) Reward(b skills.Batch) *Node {
//		return Neg(ReduceSum(Square(Sub(p.Net.Params.Apply(b.Skill), b.Next)), 1))
//	}
//	func (p predictable) Learn(b skills.Batch) (skills.Diversity, *Node) {
//		loss := Neg(ReduceAllMean(p.Reward(b)))
//		p.Net = p.Net.Step(loss)
//		return p, loss
//	}
//	func (predictable) Loss() string { return "prediction_loss" }
//
// # A learner
//
// A learner of policies is a [Rule]: functions in a graph that start it, run an iteration and
// return the policy. Example_dqn of package qdnb is DQN on a cart pole.
//
//	func (d *DQN) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
//		task := scoring.NewTask(env, d.Hidden, d.EpisodeLength)
//		rule := algorithms.Rule[memory]{Metrics: []string{"loss"}, Steps: 200, Every: 2000, Episodes: 16}
//		rule.Start = func(key random.Key) memory { ... } // networks, environments, replay buffer
//		rule.Iterate = func(m memory, key random.Key) (memory, []*Node) { ... }
//		rule.Policy = func(m memory) *Node { return m.Values.Params.Join() }
//		return rule.New(p, task, d.CVT, seed)
//	}
//
// # A loop
//
// A loop is hyperparameters with Check and New, for qdnb.Spec's Loop. A search that embeds [Base] adds
// Step and State.
//
//	func (h *mine) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
//		base, err := algorithms.NewBase(p, scoring.NewTask(env, h.Hidden, 250), h.CVT, h.Population, seed)
//		s := &search{Base: base}
//		... // the first population, and next from xla.Compile(base.Programs, "next", ...)
//		return s, err
//	}
//
//	type search struct {
//		*algorithms.Base
//		population xla.Array // [P, N]
//		next       *xla.Program[nextIn, xla.Array]
//	}
//
//	func (s *search) Step() (o scoring.Outcome, err error) {
//		number := s.Number()
//		defer number.Free()
//		children, err := s.next.Run(nextIn{s.Seed, number, s.population})
//		if err != nil {
//			return o, err
//		}
//		s.population.Free()
//		s.population = children
//		_, o, err = s.Evaluate(children) // and into the repertoire
//		return o, err
//	}
//
//	func (s *search) State() *xla.Checkpoint { return s.Stored(&s.population) }
//
// An archive in a loop is a part of a state, next to the genotypes of its slots. A program makes it by
// its Empty, with the task of the base; another one inserts:
//
//	type held struct {
//		Genotypes *Node // [slots, N]
//		Archive   repertoire.Archive
//	}
//
//	func (h held) insert(children *Node, found repertoire.Evaluated) held {
//		archive, in := h.Archive.Add(found)
//		slots, count := xla.Nonzero(in.Accepted)
//		from := Gather(in.Index, InsertAxes(slots, -1))
//		return held{xla.SetRowsAt(h.Genotypes, children, from, slots, count), archive}
//	}
//
//	parent := Gather(h.Genotypes, InsertAxes(h.Archive.Cells().Sampler().Draw(keys), -1)) // [keys, N]
package algorithms
