package watch

import (
	"context"
	"errors"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/mujoco/compiler"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// PeerSpec configures [InMuJoCo].
type PeerSpec struct {
	Cell     int // of the repertoire; -1: the best one
	Episodes int // at once, each from an initial state of its own
	Seed     int64
	Backend  string
	// Progress, if not nil, is called with the number of finished steps and their total.
	Progress func(done, total int)
	// Begun, if not nil, is called when MuJoCo has placed the robots, and Stepped after each of its control steps, both
	// with all contacts of the model. Their errors end the episodes.
	Begun, Stepped func(p *compiler.Peer) error
}

// Compared is how a gait went in both engines.
type Compared struct {
	Here   Walked
	MuJoCo Walked // with all contacts of the model
	// Same is with the contacts of the task only. It is MuJoCo if the task has all.
	Same Walked
	Task envs.RobotTask // Here and there it is without its Vary, which MuJoCo lacks.
}

// Walked is how episodes went in an engine.
type Walked struct {
	Distances []float64 // of the trunk, m, of each episode until its end
	Fitnesses []float64
	Film      *scene.Film // of the first episode
}

// engine moves robots by a control step under controls, all in rows of copies.
type engine func(control []float32) (qpos, qvel []float32, err error)

// InMuJoCo plays a gait of a run of an [envs.RobotTask] in this engine and in MuJoCo, from the same initial states.
// The policy is the same in both: it observes the task's observation of the states that the engine moves to.
func InMuJoCo(ctx context.Context, run *runs.Run, s PeerSpec) (c Compared, err error) {
	if panicked := xla.Catch(func() { c, err = s.play(ctx, run) }); panicked != nil {
		err = panicked
	}
	return c, err
}

func (s PeerSpec) play(ctx context.Context, run *runs.Run) (c Compared, err error) {
	if run.Robot() == "" {
		return c, names.Wrongf("%s stores no robot, as only runs of `qdnb train --robot` and Spec.Robot do, and MuJoCo plays "+
			"no other; the engine that trained it, Brax's or MuJoCo's here, plays it by `qdnb show RUN --html skill.html`, or "+
			"by qdnb.Play if its environment is your own", run.Name())
	}
	env, err := policies.Environment(run)
	if err != nil {
		return c, err
	}
	rigid := envs.RigidOf(env)
	robot, _ := envs.Robot(env)
	var cells []int
	if s.Cell >= 0 {
		cells = []int{s.Cell}
	}
	if c.Task = robot.Task; len(c.Task.Vary) > 0 {
		robot.Task.Vary = nil
		if rigid, err = robot.Task.Environment(robot.Model); err != nil {
			return c, err
		}
	}
	set, err := policies.Select(run, nil, cells)
	if err != nil {
		return c, err
	}
	p, err := xla.Open(ctx, s.Backend)
	if err != nil {
		return c, err
	}
	loop, err := newLoop(p, set, rigid, robot, s.Episodes, s.Seed)
	if err != nil {
		return c, err
	}
	defer loop.scope.Free()
	system := rigid.System.(*mujoco.System)
	all := robot.Task.Contacts == "all" && !robot.Task.IgnorePairs
	total, done := 3*loop.steps, 0
	if all {
		total = 2 * loop.steps
	}
	counted := func(step engine) engine {
		return func(control []float32) (qpos, qvel []float32, err error) {
			if done++; s.Progress != nil {
				s.Progress(done, total)
			}
			return step(control)
		}
	}
	there := func(pairs []mujoco.Pair, begun, stepped func(p *compiler.Peer) error) (w Walked, err error) {
		peer, err := compiler.Start(ctx, robot.Model, s.Episodes, system.Substeps(), pairs, robot.Task.Terrain)
		if err != nil {
			return w, err
		}
		defer peer.Close()
		return loop.run(ctx, func(qpos, qvel []float32) error {
			err := peer.Begin(qpos, qvel, system.StartActivations(s.Episodes))
			if err == nil && begun != nil {
				err = begun(peer)
			}
			return err
		}, counted(func(control []float32) (qpos, qvel []float32, err error) {
			qpos, qvel, err = peer.Step(control)
			if err == nil && stepped != nil {
				err = stepped(peer)
			}
			return qpos, qvel, err
		}))
	}
	if c.MuJoCo, err = there(nil, s.Begun, s.Stepped); err != nil {
		return c, err
	}
	if c.Same = c.MuJoCo; !all {
		if c.Same, err = there(append([]mujoco.Pair{}, system.Pairs()...), nil, nil); err != nil {
			return c, err
		}
	}
	c.Here, err = loop.run(ctx, loop.place, counted(loop.move))
	return c, err
}

// loop plays episodes of a policy whose steps are moved by any engine.
type loop struct {
	scope   *xla.Scope
	task    envs.RobotTask
	stage   *stage
	copies  int
	steps   int
	begin   *xla.Program[beginIn, moment]
	look    *xla.Program[lookIn, moment]
	physics *xla.Program[physicsIn, physicsOut]
	seed    xla.Array
	row     xla.Array // of the policy
	parts   xla.State[algebra.State]
	act     []float32 // with which episodes start
}

// moment is what is known before a step, and of the one that led there.
type moment struct {
	State           xla.State[envs.State]
	Memory          xla.State[[]*Node] // of the policy
	Action, Control xla.Array
	QPos, QVel      xla.Array
	Seen            xla.Array // see [stage.look]
	Trunk           xla.Array // x, y [2, B]
}

type beginIn struct{ Seed, Row xla.Array }

type lookIn struct {
	State      xla.State[envs.State]
	Memory     xla.State[[]*Node]
	Action     xla.Array
	QPos, QVel xla.Array
	Row        xla.Array
}

type physicsIn struct {
	Parts   xla.State[algebra.State]
	Control xla.Array
}

type physicsOut struct {
	Parts      xla.State[algebra.State]
	QPos, QVel xla.Array
}

func newLoop(p *xla.Platform, set *policies.Set, env *envs.Rigid, robot envs.StoredRobot, copies int, seed int64) (l *loop,
	err error) {
	task, err := set.Task(env)
	if err != nil {
		return nil, err
	}
	l = &loop{scope: &xla.Scope{Platform: p}, task: robot.Task, copies: copies, steps: task.Length}
	if l.stage, err = newStage(env); err != nil {
		return nil, err
	}
	m := robot.Model
	genotype := set.Policies[0].Genotype
	l.seed, l.row = p.Seed(seed), xla.FromFloats(genotype, 1, len(genotype))
	// known returns what is known before a step in a state, with what the policy does.
	known := func(s envs.State, memory []*Node, row *Node) moment {
		policy := task.Policy.Policies(BroadcastToDims(row, copies, len(genotype)))
		if memory == nil {
			memory = policy.Memory()
		}
		next, action := policy.Act(memory, s.Observation)
		var control *Node
		asked := env.Moved(func(state algebra.State, input *Node) algebra.State {
			control = input
			return state
		})
		envs.Step(asked, s, action)
		at := env.System.Frame(algebra.State{Parts: s.PhysicsState}, robot.Task.Trunk).Position
		return moment{State: xla.Out(s), Memory: xla.Out(next), Action: xla.Out(action), Control: xla.Out(control),
			QPos: xla.Out(s.PhysicsState[0]), QVel: xla.Out(s.PhysicsState[1]), Seen: xla.Out(l.stage.look(s)),
			Trunk: xla.Out(Stack(at[:2], 0))}
	}
	l.begin, err = xla.Compile(l.scope, "begin episodes", beginIn{l.seed.First(), l.row}, func(in beginIn) moment {
		copies := Iota(in.Seed.Tree.Graph(), shapes.Make(dtypes.Int32, copies), 0)
		keys := random.KeyOf(in.Seed.Tree).FoldInEach(copies).FoldIn(1)
		return known(envs.Reset(env, keys), nil, in.Row.Tree)
	})
	if err != nil {
		return nil, err
	}
	now := l.begin.Out
	l.look, err = xla.Compile(l.scope, "observe episodes",
		lookIn{now.State, now.Memory, now.Action, now.QPos, now.QVel, l.row}, func(in lookIn) moment {
			moved := env.Moved(func(state algebra.State, _ *Node) algebra.State {
				return env.System.(*mujoco.System).Of(mujoco.State{QPos: in.QPos.Tree, QVel: in.QVel.Tree,
					QAcc: ZerosLike(in.QVel.Tree)})
			})
			return known(envs.Step(moved, in.State.Tree, in.Action.Tree), in.Memory.Tree, in.Row.Tree)
		})
	if err != nil {
		return nil, err
	}
	system := env.System.(*mujoco.System)
	parts := []xla.Array{xla.Declare(dtypes.Float32, m.Sizes.NQ, copies), xla.Declare(dtypes.Float32, m.Sizes.NV, copies),
		xla.Declare(dtypes.Float32, m.Sizes.NV, copies)}
	if l.act = system.StartActivations(copies); len(l.act) > 0 {
		parts = append(parts, xla.Declare(dtypes.Float32, m.Sizes.NA, copies))
	}
	l.parts = xla.Pack(physicsState, parts...)
	l.physics, err = xla.Compile(l.scope, "a control step", physicsIn{l.parts, now.Control}, func(in physicsIn) physicsOut {
		next, _ := system.StepUnder(in.Parts.Tree, in.Control.Tree)
		return physicsOut{xla.Out(next), xla.Out(next.Parts[0]), xla.Out(next.Parts[1])}
	})
	return l, err
}

func physicsState(nodes []*Node) algebra.State { return algebra.State{Parts: nodes} }

// place starts this engine's robots.
func (l *loop) place(qpos, qvel []float32) error {
	var parts []xla.Array
	for _, rows := range [][]float32{qpos, qvel, make([]float32, len(qvel)), l.act} {
		if n := len(rows) / l.copies; n > 0 {
			parts = append(parts, xla.FromFloats(rows, n, l.copies))
		}
	}
	l.parts = xla.Pack(physicsState, parts...)
	return nil
}

// move moves this engine's robots.
func (l *loop) move(control []float32) (qpos, qvel []float32, err error) {
	u := xla.FromFloats(control, len(control)/l.copies, l.copies)
	out, err := l.physics.Run(physicsIn{l.parts, u})
	if err != nil {
		return nil, nil, err
	}
	u.Free()
	l.parts.Free()
	l.parts = out.Parts
	qpos, err = out.QPos.Floats()
	if err == nil {
		qvel, err = out.QVel.Floats()
	}
	return qpos, qvel, err
}

// run plays the episodes. begin places the robots.
func (l *loop) run(ctx context.Context, begin func(qpos, qvel []float32) error, step engine) (w Walked, err error) {
	now, err := l.begin.Run(beginIn{l.seed.First(), l.row})
	if err != nil {
		return w, err
	}
	var lists [5][]float32 // control, qpos, qvel, seen, trunk
	read := func() (err error) {
		for i, a := range []xla.Array{now.Control, now.QPos, now.QVel, now.Seen, now.Trunk} {
			var failed error
			lists[i], failed = a.Floats()
			err = errors.Join(err, failed)
		}
		return err
	}
	if err := read(); err != nil {
		return w, err
	}
	if err := begin(lists[1], lists[2]); err != nil {
		return w, err
	}
	w.Distances, w.Fitnesses = make([]float64, l.copies), make([]float64, l.copies)
	start, width, over := lists[4], l.stage.width(), make([]bool, l.copies)
	first, frames := lists[3][:width-2], []float32{}
	for range l.steps {
		if err := ctx.Err(); err != nil {
			return w, err
		}
		qpos, qvel, err := step(lists[0])
		if err != nil {
			return w, err
		}
		in := lookIn{State: now.State, Memory: now.Memory, Action: now.Action, Row: l.row,
			QPos: xla.FromFloats(qpos, len(qpos)/l.copies, l.copies), QVel: xla.FromFloats(qvel, len(qvel)/l.copies, l.copies)}
		before := now
		if now, err = l.look.Run(in); err != nil {
			return w, err
		}
		xla.Free(&before, &in.QPos, &in.QVel)
		if err := read(); err != nil {
			return w, err
		}
		frames = append(frames, lists[3][:width]...)
		for i := range l.copies {
			if over[i] {
				continue
			}
			seen := lists[3][i*width : (i+1)*width]
			over[i] = seen[width-1] > 0
			w.Fitnesses[i] += float64(seen[width-2])
			w.Distances[i] = l.task.Ahead(float64(lists[4][i]-start[i]), float64(lists[4][l.copies+i]-start[l.copies+i]))
		}
	}
	for i, f := range w.Fitnesses {
		if math.IsNaN(f) {
			w.Fitnesses[i] = math.Inf(-1)
		}
	}
	w.Film = l.stage.film(first, frames)
	w.Film.Title = l.task.Name
	return w, nil
}
