package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/mujoco/compiler"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/viewer"
	"example.com/qdnb/qdnb/watch"
	"example.com/qdnb/xla"
)

type robotCmd struct {
	File         string  `arg:"" name:"file"`
	Verify       bool    `name:"verify"`
	JSON         bool    `name:"json"`
	ControlStep  float64 `name:"control-step" default:"0.02" placeholder:"SECONDS"`
	IgnorePairs  bool    `name:"ignore-pairs"`
	LinkContacts int     `name:"link-contacts" placeholder:"N"`
	Picture      string  `placeholder:"FILE"`
	HTML         string  `name:"html" placeholder:"FILE"`
	backendFlag
}

// Run prints a robot and draws it, or verifies it.
func (c *robotCmd) Run(ctx context.Context) error {
	if c.Verify {
		return c.verify(ctx)
	}
	if c.JSON {
		return names.Wrongf("--json needs --verify")
	}
	if err := cmp.Or(checkName("--picture", c.Picture, ".png"), checkName("--html", c.HTML, ".html", ".htm")); err != nil {
		return err
	}
	options := mujoco.Options{IgnorePairs: c.IgnorePairs, LinkContacts: c.LinkContacts, ControlStep: c.ControlStep}
	shown := options
	shown.IgnorePairs = true // contacts that are not modelled do not keep a robot from being shown; a note tells of them
	system, notes, err := envs.ReadSystem(ctx, c.File, options, shown)
	if err != nil {
		return err
	}
	switch system := system.(type) {
	case *physics.System:
		printRobot(system.Model(), system)
	case *mujoco.System:
		printMuJoCo(system)
	}
	for _, note := range notes {
		fmt.Fprintf(stdout, "note           %s\n", inCommand(note))
	}
	name := robots.Name(c.File)
	film, err := watch.Robot(name, system)
	if err != nil {
		return err
	}
	picture := cmp.Or(c.Picture, name+".png")
	if _, err := save(picture, func(path string) error { return savePicture(path, film) }); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "picture        %s\n", picture)
	if c.HTML == "" {
		return nil
	}
	size, err := save(c.HTML, viewer.Skill(film).Save)
	if err == nil {
		fmt.Fprintf(stdout, "page           %s (%d kB)\n", c.HTML, size/1000)
	}
	return err
}

// inCommand names the flag in the place of the option.
func inCommand(text string) string {
	return strings.ReplaceAll(text, "IgnorePairs leaves", "--ignore-pairs leaves")
}

// flagged is [inCommand] of an error, which is the same if it does not name the option.
func flagged(err error) error {
	if text := inCommand(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// verification is what --verify finds.
type verification struct {
	File    string   `json:"file"`
	Agrees  bool     `json:"agrees"`
	Error   string   `json:"error,omitempty"` // what the engine does not model
	Notes   []string `json:"notes"`
	Stages  []stage  `json:"stages"`
	Backend string   `json:"backend,omitempty"`
	// Control steps per second, of the file as it is in MuJoCo and of the pairs that are modelled here.
	StepsPerSecond       float64 `json:"control_steps_per_s,omitempty"`
	MuJoCoStepsPerSecond float64 `json:"mujoco_control_steps_per_s,omitempty"`

	searched int // pairs that --ignore-pairs would leave out
}

type stage struct {
	Name   string     `json:"name"`
	States int        `json:"states"`
	Median float64    `json:"median"` // of the errors, relative
	Worst  float64    `json:"worst"`
	Limits [2]float64 `json:"allowed"` // of both
	OK     bool       `json:"ok"`
	// Chaotic is the number of rollouts that are compared only until rounding changes them in MuJoCo, Share the part of
	// the time of all rollouts that is compared.
	Chaotic int     `json:"chaotic,omitempty"`
	Share   float64 `json:"compared_share,omitempty"`
}

// verify compares a robot with MuJoCo.
func (c *robotCmd) verify(ctx context.Context) error {
	v := verification{File: c.File, Notes: []string{}, Stages: []stage{}}
	err := c.compare(ctx, &v)
	if err != nil && v.Error == "" {
		return err
	}
	if c.JSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(v); err != nil {
			return err
		}
	} else if v.Error == "" {
		v.print()
	}
	if err == nil {
		err = v.disagrees()
	}
	return err
}

// excess is by which factor the errors of a stage exceed what is allowed, if they do.
func (s stage) excess() float64 { return max(s.Median/s.Limits[0], s.Worst/s.Limits[1]) }

// compare fills a verification. If the engine does not model the robot, its Error is the error.
func (c *robotCmd) compare(ctx context.Context, v *verification) error {
	if ext := strings.ToLower(filepath.Ext(c.File)); ext == ".txt" || ext == ".json" {
		return names.Wrongf("%s: --verify has MuJoCo compute from the robot's own XML or URDF: give that file", c.File)
	}
	model, err := robots.ReadMJCF(ctx, c.File)
	if err != nil {
		return err
	}
	system, err := mujoco.NewSystem(model, mujoco.Options{IgnorePairs: c.IgnorePairs, LinkContacts: c.LinkContacts})
	if err != nil {
		v.Error = flagged(err).Error()
		return fmt.Errorf("%s: %s", c.File, v.Error)
	}
	v.Notes = append(v.Notes, system.Notes()...)
	if some, err := model.Check(mujoco.Options{IgnorePairs: true}); err == nil {
		v.searched = len(system.Pairs()) - len(some.Pairs)
	}
	p, err := xla.Open(ctx, c.Backend)
	if err != nil {
		return err
	}
	v.Backend = p.String()
	bar := progress.NewBar(robots.Name(c.File), c.JSON)
	defer bar.Close()
	var at atomic.Int64 // the phase
	begin := func(name string) {
		at.Store(int64(slices.IndexFunc(phases, func(p phase) bool { return p.name == name })))
	}
	var found []mujoco.Agreement
	if err := untilInterrupted(ctx, func() error {
		reference, err := compiler.Reference(ctx, c.File, system.Pairs())
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		speed, err := npz.Values[float64](reference["speed"])
		if err != nil {
			return err
		}
		v.MuJoCoStepsPerSecond = speed[0]
		between, err := npz.Values[int](reference["link_contacts"])
		if err != nil {
			return err
		}
		if note := crowded(between, system.LinkContacts()); note != "" {
			v.Notes = append(v.Notes, note)
		}
		if found, err = system.Agree(ctx, p, reference, begin); err != nil {
			return err
		}
		begin("speed")
		v.StepsPerSecond, err = system.Speed(ctx, p)
		return err
	}, func() {
		i := at.Load()
		done := float64(i) / float64(len(phases))
		bar.Begin(done) // no time left: a program that is in the cache takes none
		bar.Update(done, phases[i].doing)
	}); err != nil {
		return err
	}
	bar.Done("compared")
	return v.judge(found)
}

// judge fills what was found. It is an error if nothing was compared.
func (v *verification) judge(found []mujoco.Agreement) error {
	v.Agrees = true
	compared := 0
	for _, a := range found {
		v.Agrees, compared = v.Agrees && a.OK(), compared+len(a.Errors)
		v.Stages = append(v.Stages, stage{a.Stage, len(a.Errors), a.Middle(), a.Largest(), [2]float64{a.Median, a.Worst},
			a.OK(), a.Chaotic, a.Share})
	}
	if compared == 0 {
		v.Agrees, v.Error = false, "nothing was compared, since MuJoCo itself is unstable at once in every state that was "+
			"tried: use a smaller timestep, softer gains (kp, kv) or more armature, and check the unit of angles (compiler angle)"
		return fmt.Errorf("%s: %s", v.File, v.Error)
	}
	return nil
}

// disagrees says which stage is off most, if MuJoCo moves otherwise.
func (v *verification) disagrees() error {
	if v.Agrees {
		return nil
	}
	advice := "to see what that changes, train it and compare gaits by qdnb play RUN --in mujoco"
	if v.searched > 0 {
		advice = fmt.Sprintf("to see if searched contacts are why, --ignore-pairs leaves out %d pairs of geoms, here and in "+
			"MuJoCo, that have them", v.searched)
	}
	worst := slices.MaxFunc(v.Stages, func(a, b stage) int { return cmp.Compare(a.excess(), b.excess()) })
	return fmt.Errorf("%s moves otherwise than in MuJoCo (%s: %.1f times the error that is allowed): %s", v.File,
		worst.Name, worst.excess(), advice)
}

// crowded says how often more contacts between links touched in MuJoCo than act at a time; "" means never.
func crowded(between []int, limit int) string {
	above := slices.DeleteFunc(slices.Clone(between), func(n int) bool { return n <= limit })
	if len(above) == 0 {
		return ""
	}
	return fmt.Sprintf("after %d of %d control steps of the rollouts MuJoCo has more than %d contacts between links, of "+
		"which the deepest act here: add --link-contacts %d", len(above), len(between), limit, slices.Max(above))
}

// phase is a part of a verification.
type phase struct{ name, doing string }

// phases are those of a verification in their order.
var phases = []phase{
	{"MuJoCo", "MuJoCo computes states and rollouts"},
	{"poses", "compiling the poses of bodies"},
	{"forces", "compiling forces"},
	{"step", "compiling a step"},
	{"acceleration", "compiling accelerations"},
	{"speed", "compiling rollouts, and timing them"},
}

// untilInterrupted computes what nothing has to end in order, such as XLA's compilation, which nothing interrupts, and
// calls tick every second. It does not wait for it once ctx is done.
func untilInterrupted(ctx context.Context, compute func() error, tick func()) error {
	done, second := make(chan error, 1), time.NewTicker(time.Second)
	defer second.Stop()
	go func() { done <- compute() }()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-second.C:
			tick()
		}
	}
}

func (v verification) print() {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "stage\tstates\tmedian error\tworst\tallowed\t")
	for _, s := range v.Stages {
		verdict := "ok"
		if !s.OK {
			verdict = "FAIL"
		}
		fmt.Fprintf(table, "%s\t%d\t%.1e\t%.1e\t%.0e, %.0e\t%s\n", s.Name, s.States, s.Median, s.Worst, s.Limits[0],
			s.Limits[1], verdict)
	}
	_ = table.Flush()
	fmt.Fprintln(stdout)
	for _, s := range v.Stages {
		if s.Chaotic > 0 {
			fmt.Fprintf(stdout, "chaos          rounding to float32 changes %d of the %s in MuJoCo, too: compared until then, "+
				"%.0f %% of the time of all\n", s.Chaotic, s.Name, 100*s.Share)
		}
	}
	for _, note := range v.Notes {
		fmt.Fprintf(stdout, "note           %s\n", inCommand(note))
	}
	fmt.Fprintf(stdout, "speed          %.0f control steps per second on %s, MuJoCo %.0f on all cores: %.1f times\n",
		v.StepsPerSecond, v.Backend, v.MuJoCoStepsPerSecond, v.StepsPerSecond/v.MuJoCoStepsPerSecond)
}

func savePicture(path string, film *scene.Film) error {
	picture, err := scene.Render(film, 0, scene.Camera{}, 960, 720)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error { return png.Encode(w, picture) })
}

// printMuJoCo prints the tables of a robot of MuJoCo's engine.
func printMuJoCo(system *mujoco.System) {
	m, names, joints := system.Model(), system.BodyNames(), system.JointAxes()
	integrators := []string{"Euler", "RK4", "implicit", "implicitfast"}
	fmt.Fprintf(stdout, "robot          %d bodies, %d joint angles, %d degrees of freedom, %d actions; control steps "+
		"of %.3g ms, %s with time steps of %.3g ms\n\n", len(names)-1, len(joints), m.Sizes.NV, system.Actions(),
		1000*system.ControlStep(), integrators[m.Opt.Integrator], 1000*m.Opt.TimeStep)
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "body\tmass kg\tinertia kg m²")
	for i, name := range names[1:] {
		inertia := m.BodyInertia[i+1]
		fmt.Fprintf(table, "%s\t%.4g\t%.3g %.3g %.3g\n", name, m.BodyMass[i+1], inertia[0], inertia[1], inertia[2])
	}
	fmt.Fprintln(table, "\njoint\trange rad, m\tdefault\tdamping\tarmature")
	rest, limits := system.DefaultAngles(), system.JointLimits()
	next := 0
	for id, kind := range m.JntType {
		if kind == mujoco.Hinge || kind == mujoco.Slide {
			dof := m.JntDofAdr[id]
			fmt.Fprintf(table, "%s\t%.4g to %.4g\t%.4g\t%.3g\t%.3g\n", joints[next], limits[next][0], limits[next][1],
				rest[next], m.DofDamping[dof], m.DofArmature[dof])
			next++
		}
	}
	fmt.Fprintln(table, "\nactuator\tdrives\tcontrol range")
	for i, joint := range system.Actuated() {
		limits := "none: -1 to 1"
		if m.ActuatorCtrlLimited[i] {
			limits = fmt.Sprintf("%.4g to %.4g", m.ActuatorCtrlRange[i][0], m.ActuatorCtrlRange[i][1])
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", cmp.Or(m.Names.Actuator[i], fmt.Sprint(i)), joint, limits)
	}
	fmt.Fprintln(table, "\ncontact\tpairs of geoms")
	count, order := map[string]int{}, []string{}
	for _, pair := range system.Pairs() {
		a, b := m.GeomBodyID[pair.Geom1], m.GeomBodyID[pair.Geom2]
		key := names[min(a, b)] + " - " + names[max(a, b)]
		if count[key]++; count[key] == 1 {
			order = append(order, key)
		}
	}
	for _, key := range order {
		fmt.Fprintf(table, "%s\t%d\n", key, count[key])
	}
	_ = table.Flush()
	fmt.Fprintln(stdout)
}

// printRobot prints the tables of a robot.
func printRobot(m physics.Model, system *physics.System) {
	dynamics := "position based"
	if m.Dynamics == physics.Spring {
		dynamics = "spring"
	}
	fmt.Fprintf(stdout, "robot          %d bodies, %d joint angles, %d actions; %s dynamics, %d substeps of %.3g ms\n\n",
		len(m.Bodies), system.Angles(), system.Actions(), dynamics, m.Substeps, 1000*m.TimeStep/float64(m.Substeps))
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "body\tmass kg\tinertia kg m²\tshapes")
	for _, b := range m.Bodies {
		mass := fmt.Sprintf("%.4g", b.Mass)
		if b.Fixed {
			mass = "fixed"
		}
		fmt.Fprintf(table, "%s\t%s\t%.3g %.3g %.3g\t%s\n", b.Name, mass, b.Inertia[0], b.Inertia[1], b.Inertia[2],
			strings.Join(lists.Map(b.Colliders, shapeName), ", "))
	}
	fmt.Fprintln(table, "\njoint\tof\tlimits degrees\tdamping N m s")
	for _, j := range m.Joints {
		for _, limits := range j.Limits {
			fmt.Fprintf(table, "%s\t%s - %s\t%.4g to %.4g\t%.3g\n", j.Name, j.Parent, j.Child, limits[0], limits[1],
				j.Damping)
		}
	}
	fmt.Fprintln(table, "\nactuator\taxis\tstrength N m\tfeedback N m")
	for _, a := range m.Actuators {
		axis, servo := "all", ""
		if a.Axis > 0 {
			axis = fmt.Sprint(a.Axis)
		}
		if a.Angle {
			servo = fmt.Sprintf("%.3g", a.Strength)
		}
		fmt.Fprintf(table, "%s\t%s\t%.4g\t%s\n", a.Joint, axis, a.Strength, servo)
	}
	for _, t := range m.Thrusters {
		fmt.Fprintf(table, "%s\t%s\t%.4g\tthruster\n", t.Body, [...]string{"xyz", "x", "y", "z"}[t.Axis], t.Strength)
	}
	fmt.Fprintln(table, "\ncontact")
	for _, pair := range m.Collide {
		fmt.Fprintf(table, "%s - %s\n", pair[0], pair[1])
	}
	_ = table.Flush()
	fmt.Fprintln(stdout)
}

// shapeName describes a collider.
func shapeName(c physics.Collider) string {
	switch {
	case c.Shape == physics.Plane:
		return "plane"
	case c.Shape == physics.Box:
		return fmt.Sprintf("box %.3g x %.3g x %.3g", 2*c.HalfSize[0], 2*c.HalfSize[1], 2*c.HalfSize[2])
	case c.Length == 2*c.Radius:
		return fmt.Sprintf("sphere %.3g", c.Radius)
	}
	return fmt.Sprintf("capsule %.3g x %.3g", c.Radius, c.Length)
}
