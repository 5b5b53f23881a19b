// Package evolution is the neuroevolution loop of the paper: emit, evaluate, insert.
//
// A [Method] is an [Emitter], perhaps a [Learner], and an [Archive]; a [Search] evaluates what they
// propose in a [Task], all on the device. The paper's four algorithms are two emitters times two
// archives:
//
//	                           Grid              AuroraArchive
//	IsoLineEmitter                    MAP-Elites        AURORA
//	IsoLineEmitter, PolicyGradient    PGA-MAP-Elites    PGA-AURORA
//
// Sources:
//
//	Mouret and Clune 2015, "Illuminating search spaces by mapping elites";
//	Vassiliades and Mouret 2018, "Discovering the elite hypervolume by leveraging interspecies correlation" (Iso+LineDD);
//	Nilsson and Cully 2021, "Policy gradient assisted MAP-Elites";
//	Grillotti and Cully 2022, "Unsupervised behavior discovery with quality-diversity optimization" (AURORA);
//	Chalumeau et al. 2023, "Neuroevolution is a competitive alternative to reinforcement learning for skill discovery" (the paper).
//
// The listings below are those of the paper's appendix, numbered as there, as this package carries
// them out. Names in them are settings (see [MapElites], [PolicyGradientSettings] and
// [AuroraSettings]); numbers are the paper's. After -- is what does it. docs/algorithms has a page
// on each algorithm, with equations, figures, settings and commands.
//
// # MAP-Elites (Algorithm 1)
//
//	A := cells around the centroids, all empty  -- Grid
//	in generation 0:
//		x[1..batch] := random policies
//	in every later generation:
//		x1[i], x2[i] := genotypes of filled cells, drawn uniformly and with replacement  -- Parents.Sample
//		x[i] := x1[i] + iso_sigma N(0, I) + line_sigma N(0, 1) (x2[i] - x1[i])  -- IsoLineEmitter
//	in all:
//		f[i], d[i] := fitness and descriptor of one episode of x[i], from a random state
//		for each cell c, of the i whose d[i] is nearest to the centroid of c:
//			the one of greatest f[i], and of lowest i among equals,
//			takes the cell if f[i] is greater than the fitness there  -- repertoire.Winners
//
// There are batch = 1000 policies in a generation and 1024 cells.
//
// # PGA-MAP-Elites (Algorithm 2)
//
// Half of the offspring climb the gradient of a critic, which TD3 trains on the transitions of all
// episodes. Package [example.com/qdnb/qdnb/algorithms/td3] has both.
//
//	A := cells, all empty; B := replay buffer, empty
//	Q1, Q2 := critics, drawn; actor := first individual of generation 0; targets := copies of these
//	in generation 0:
//		x[1..batch] := random policies
//	in every later generation:
//		x[1..49] := genotypes of filled cells, each after 100 steps of a new Adam
//			against -mean Q1(s, x[i](s)), for states s drawn from B: the same for all i  -- td3.TD3.Vary
//		x[50] := actor, as it is
//		x[51..100] := Iso+LineDD of filled cells, as in MAP-Elites  -- IsoLineEmitter
//	in all:
//		f[i], d[i], transitions := one episode of x[i], from a random state
//		insert x in A, as in MAP-Elites
//		insert all transitions in B, those after the end of an episode too
//		300 times: draw 256 transitions from B and update the critics;
//			every other time the actor; targets follow  -- td3.TD3.Train
//
// The paper's listing trains the critics before the evaluation; its code, and this package, after
// it. The listing leaves out that the actor is one of the offspring.
//
// # AURORA (Algorithm 3)
//
// MAP-Elites whose descriptors are learned: d is what an auto-encoder's encoder E makes of what the
// policy observed, and members of the archive keep a distance l.
//
//	A := archive of 1024 slots, all empty; E := encoder, drawn; l := 0.2  -- AuroraArchive
//	P := cells around the centroids, all empty: the passive repertoire, which is measured  -- Grid
//	s0, s0' := two initial states, the same in the whole run
//	in every generation:
//		x[1..batch] := random policies in generation 0, else Iso+LineDD of members of A
//		f[i], o[i] := fitness, and every tenth observation, of an episode of x[i] from s0
//		d[i] := E(o[i])
//		insert x in A:  -- repertoire.Unstructured.Winners
//			who has two members at a distance of l or less is refused;
//			who has a fitter one of the batch nearer than l is refused;
//			who has one member at a distance of l or less takes its slot if it is fitter;
//			all others take empty slots, while there are any
//	after generation 0:
//		train the auto-encoder on the o of A; the descriptors of A stay
//	after every tenth generation, which ends loop i = 1, 2, ...:
//		if i + 1 is a triangular number (i = 2, 5, 9, 14, ...):
//			train the auto-encoder on the o of A
//			d := E(o) for all of A; offer A to an empty archive  -- repertoire.Unstructured.Survivors
//		else if i is even:
//			e := members of A - 1024; l := l + 1e-5 e + 1e-5 (e - e of the time before)  -- repertoire.Threshold
//			offer A to an empty archive
//	after generation 0 and every tenth:
//		insert all of A in P, each with the fitness and the task's descriptor of an episode from s0'
//
// A training has 100 epochs up to loop 100, later 25. The paper's listing evaluates fitness again
// when the encoder has changed; its code, and this package, do not.
//
// # PGA-AURORA (Algorithm 4)
//
//	as AURORA, but in every generation after the first
//		x[1..100] := 49 that climbed the critic's gradient, the actor, 50 of Iso+LineDD; parents are members of A
//	and after the insertion
//		insert all transitions in B, and train critics and actor 300 times
//
// as in PGA-MAP-Elites. The critics know the task's reward alone.
//
// # Differences from the published code
//
// The published code is that of QDax, branch qdbenchmark, and of qd-skill-discovery-benchmark.
//
//   - Of candidates of one batch that tie for a cell the one of lowest index enters (there: unspecified).
//   - The centroids are the same for all runs of an environment, as the paper says (there: new ones for each seed). k-means++ draws one
//     candidate for each centroid (scikit-learn's tries several).
//   - A NaN fitness or descriptor never enters (there: it blocks its cell for the batch).
//   - Empty slots of AURORA's archive take no part in anything (there: they hold NaN, which keeps a cell of the passive repertoire empty).
//   - When AURORA's archive is offered again after a training, of two members too near to each other the weaker one is dropped (there: both,
//     while any slot is empty, for the NaN distances of empty slots sort before a member's own; later releases of QDax drop the weaker one).
//   - An auto-encoder's training set is drawn once from the archive (there: and once more from what was drawn).
//   - Episodes of pointmaze have 250 steps in all algorithms (there: 200 for AURORA's), so that QD scores compare.
//   - The replay buffer is a ring without state descriptors, which nothing reads (there: its content is shifted at the end).
//
// # How a generation runs
//
// A generation is one program. The population is cut into slices of a few policies, whose weights
// fit the cache of a core; the workers take slices in turn, and every worker holds the repertoire.
// A slice emits its offspring and rolls them out; offspring are not stored, for most do not enter:
// random numbers are named by (seed, generation, individual, purpose), so that those which do are
// emitted a second time from their names. Results therefore do not depend on the number of workers.
package evolution
