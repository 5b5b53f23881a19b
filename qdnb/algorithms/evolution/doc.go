// Package evolution is the neuroevolution loop of the paper: emit, evaluate, insert.
//
// A generation is a [Mix] of emitters and a [repertoire.Archive]. An [Emitter] makes its share of the
// offspring, and may learn from what became of them. The archive decides which of them are kept. Both
// are values that are their own state: pytrees, which checkpoints hold by the names of their fields.
// A search evaluates the offspring in a [scoring.Task], all on the device. The paper's four algorithms
// combine two mixes with two archives:
//
//	                                  repertoire.Grid   repertoire.Aurora
//	IsoLineEmitter                    MAP-Elites        AURORA
//	PolicyGradient, IsoLineEmitter    PGA-MAP-Elites    PGA-AURORA
//
// Later algorithms combine other parts:
//
//	IsoLineEmitter                         DominatedNovelty   Dominated Novelty Search
//	IsoLineEmitter                         Fronts             MOME
//	IsoLineEmitter                         XCon               AURORA-XCon
//	DescriptorConditioned, IsoLineEmitter  Grid               DCRL-MAP-Elites
//	ASCIISettings, IsoLineEmitter          Grid               ASCII-ME
//	StrategySettings                       Annealed           CMA-MAE
//	StrategySettings                       Discounted         DMS
//	ArborescenceSettings                   Grid               CMA-MEGA
//	ArborescenceSettings                   Annealed           CMA-MAEGA
//	PPGASettings                           Annealed           PPGA
//
// # Another emitter
//
// An emitter without state is a function of parents and random keys, [Stateless]. One with state holds
// it in its fields. This one is Iso+LineDD whose step size grows while offspring enter the archive:
//
//	type adaptive struct{ Sigma *Node } // float32 scalar
//
//	func (e adaptive) Init(s evolution.Start, key random.Key) evolution.Emitter {
//		return adaptive{Const(key.Hi.Graph(), float32(0.005))}
//	}
//
//	func (e adaptive) Offspring(p evolution.Parents, which *Node, keys random.Key) *Node {
//		x1, x2 := p.Sample(keys.FoldIn(0)), p.Sample(keys.FoldIn(1))
//		noise := Mul(keys.FoldIn(2).Normal(x1.Shape().Dimensions...), e.Sigma)
//		return evolution.IsoLineDD(x1, x2, noise, keys.FoldIn(3).Normal(x1.Shape().Dimensions[0]), 1, 0.05)
//	}
//
//	func (e adaptive) Update(g evolution.Generation, key random.Key) (evolution.Emitter, []evolution.Metric) {
//		entered := ReduceAllMean(ConvertDType(g.Own(g.Entered()), dtypes.Float32))
//		e.Sigma = Mul(e.Sigma, Exp(AddScalar(entered, -0.2)))
//		return e, []evolution.Metric{{Name: "sigma", Value: e.Sigma}}
//	}
//
// [example.com/qdnb/qdnb.Tune] puts it into the hyperparameters of an algorithm, with its share of a generation:
//
//	qdnb.Tune(func(h *evolution.MapElites) {
//		h.Mix = evolution.Mix{{adaptive{}, 0.5}, {evolution.IsoLineEmitter{0.005, 0.05}, 0.5}}
//	})
//
// A [Proposer], such as [PolicyGradient], makes its offspring in a separate program, and may learn from
// a replay buffer of transitions.
//
// Sources:
//
//	Mouret and Clune 2015, "Illuminating search spaces by mapping elites";
//	Vassiliades and Mouret 2018, "Discovering the elite hypervolume by leveraging interspecies
//		correlation" (Iso+LineDD);
//	Nilsson and Cully 2021, "Policy gradient assisted MAP-Elites";
//	Grillotti and Cully 2022, "Unsupervised behavior discovery with quality-diversity
//		optimization" (AURORA);
//	Pierrot et al. 2022, "Multi-objective quality diversity optimization" (MOME);
//	Chalumeau et al. 2023, "Neuroevolution is a competitive alternative to reinforcement learning
//		for skill discovery" (the paper);
//	Faldor et al. 2024, "Synergizing quality-diversity with descriptor-conditioned reinforcement
//		learning" (DCRL-MAP-Elites);
//	Fontaine and Nikolaidis 2023, "Covariance matrix adaptation MAP-annealing" (CMA-MAE);
//	Tjanaka et al. 2026, "Discount model search for quality diversity optimization in high-dimensional
//		measure spaces" (DMS);
//	Fontaine and Nikolaidis 2021, "Differentiable quality diversity" (CMA-MEGA);
//	Tjanaka et al. 2023, "Training diverse high-dimensional controllers by scaling covariance matrix
//		adaptation MAP-annealing";
//	Mitsides, Faldor and Cully 2025, "Scaling policy gradient quality-diversity with massive
//		parallelization via behavioral variations" (ASCII-ME);
//	Coiffard, Templier and Cully 2025, "Overcoming deceptiveness in fitness optimization with
//		unsupervised quality-diversity" (AURORA-XCon);
//	Batra et al. 2024, "Proximal policy gradient arborescence for quality diversity reinforcement
//		learning" (PPGA);
//	Bahlous-Boldi et al. 2025, "Dominated novelty search: rethinking local competition in
//		quality-diversity".
//
// The listings below show the algorithms of the paper's appendix as this package implements them,
// with the paper's numbering. Names in them are settings (see [MapElites], [td3.Config]
// and [repertoire.Aurora]); numbers are the paper's. The identifier after -- implements the step.
// docs/algorithms has a page for each family of algorithms, with equations, figures, settings and the
// differences from the paper and its code. ARCHITECTURE.md says how a generation runs.
//
// # MAP-Elites (Algorithm 1)
//
//	A := cells around the centroids, all empty  -- repertoire.Grid
//	in generation 0:
//		x[1..batch] := random policies
//	in every later generation:
//		x1[i], x2[i] := genotypes drawn uniformly from filled cells, with replacement  -- Parents.Sample
//		x[i] := x1[i] + iso_sigma N(0, I) + line_sigma N(0, 1) (x2[i] - x1[i])  -- IsoLineEmitter
//	in every generation:
//		f[i], d[i] := fitness and descriptor of one episode of x[i], from a random state
//		for each cell c, among the i whose d[i] is nearest to the centroid of c:
//			the one with the greatest f[i] (the lowest i among equals)
//			enters the cell if f[i] is greater than the fitness there  -- repertoire.Grid
//
// A generation has batch = 1000 policies; the grid has 1024 cells.
//
// # PGA-MAP-Elites (Algorithm 2)
//
// Half of the offspring come from gradient ascent on a critic, which TD3 trains on the transitions
// of all episodes. Package [example.com/qdnb/qdnb/algorithms/td3] implements both.
//
//	A := cells, all empty; B := replay buffer, empty
//	Q1, Q2 := random critics; actor := first individual of generation 0; targets := copies of these
//	in generation 0:
//		x[1..batch] := random policies
//	in every later generation:
//		x[1..49] := genotypes of filled cells, each after 100 Adam steps, with fresh moments,
//			on -mean Q1(s, x[i](s)), for states s drawn from B, the same for all i  -- PolicyGradient
//		x[50] := actor, unchanged
//		x[51..100] := Iso+LineDD of filled cells, as in MAP-Elites  -- IsoLineEmitter
//	in every generation:
//		f[i], d[i], transitions := one episode of x[i], from a random state
//		insert x into A, as in MAP-Elites
//		insert all transitions into B, including those after the end of an episode
//		300 times: draw 256 transitions from B and update the critics;
//			every other time update the actor; targets follow  -- td3.TD3.Train
//
// # AURORA (Algorithm 3)
//
// AURORA is MAP-Elites with learned descriptors: d is the encoding of the policy's observations by
// the encoder E of an auto-encoder. Individuals in the archive keep a minimum distance l.
//
//	A := archive of 1024 slots, all empty; E := random encoder; l := 0.2  -- repertoire.Aurora
//	P := cells around the centroids, all empty: the passive repertoire, which is measured  -- repertoire.Grid
//	s0, s0' := two initial states, fixed for the whole run
//	in every generation:
//		x[1..batch] := random policies in generation 0, else Iso+LineDD of individuals of A
//		f[i], o[i] := fitness and every tenth observation of an episode of x[i] from s0
//		d[i] := E(o[i])
//		insert x into A:  -- repertoire.Aurora
//			x[i] with two individuals of A within a distance of l is rejected;
//			x[i] with a fitter offspring of the batch nearer than l is rejected;
//			x[i] with one individual of A within a distance of l replaces it if x[i] is fitter;
//			any other x[i] takes an empty slot, while there are any
//	after generation 0:
//		train the auto-encoder on the o of A; keep the descriptors of A
//	after every tenth generation, which ends loop i = 1, 2, ...:
//		if i + 1 is a triangular number (i = 2, 5, 9, 14, ...):
//			train the auto-encoder on the o of A
//			d := E(o) for all of A
//			re-insert A into an empty archive
//		else if i is even:
//			e := size of A - 1024
//			l := l + 1e-5 e + 1e-5 (e - previous e)
//			re-insert A into an empty archive
//	after generation 0 and every tenth:
//		insert all of A into P, with the fitness and the task's descriptor of an episode from s0'
//
// A training has 100 epochs up to loop 100 and 25 later. The paper's listing evaluates fitness
// again after the encoder has changed. Its code and this package do not.
//
// # PGA-AURORA (Algorithm 4)
//
//	as AURORA, but in every generation after the first:
//		x[1..49] := policy-gradient offspring, x[50] := actor, x[51..100] := Iso+LineDD,
//			as in PGA-MAP-Elites; parents are individuals of A
//	and after the insertion:
//		insert all transitions into B; train critics and actor 300 times, as in PGA-MAP-Elites
//
// The critics see only the task's reward.
package evolution
