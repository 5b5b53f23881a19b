package main

import (
	"cmp"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/viewer"
	"example.com/qdnb/qdnb/watch"
)

type robotCmd struct {
	File    string `arg:"" name:"file"`
	Picture string `placeholder:"FILE"`
	HTML    string `name:"html" placeholder:"FILE"`
}

// Run prints a robot and draws it.
func (c *robotCmd) Run() error {
	model, notes, err := robots.ReadFile(c.File)
	if err != nil {
		return err
	}
	system, err := physics.NewSystem(model)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	printRobot(model, system)
	for _, note := range notes {
		fmt.Printf("note           %s\n", note)
	}
	name := strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File))
	film, err := watch.Robot(name, system)
	if err != nil {
		return err
	}
	picture := cmp.Or(c.Picture, name+".png")
	if _, err := save(picture, func(path string) error { return savePicture(path, film) }); err != nil {
		return err
	}
	fmt.Printf("picture        %s\n", picture)
	if c.HTML == "" {
		return nil
	}
	size, err := save(c.HTML, viewer.Skill(film).Save)
	if err == nil {
		fmt.Printf("page           %s (%d kB)\n", c.HTML, size/1000)
	}
	return err
}

func savePicture(path string, film *scene.Film) error {
	picture, err := scene.Render(film, 0, scene.Camera{}, 960, 720)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error { return png.Encode(w, picture) })
}

// printRobot prints the tables of a robot.
func printRobot(m physics.Model, system *physics.System) {
	dynamics := "position based"
	if m.Dynamics == physics.Spring {
		dynamics = "spring"
	}
	fmt.Printf("robot          %d bodies, %d joint angles, %d actions; %s dynamics, %d substeps of %.3g ms\n\n",
		len(m.Bodies), system.Angles(), system.Actions(), dynamics, m.Substeps, 1000*m.TimeStep/float64(m.Substeps))
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "body\tmass kg\tinertia kg m²\tshapes")
	for _, b := range m.Bodies {
		var shapes []string
		for _, c := range b.Colliders {
			shapes = append(shapes, shapeName(c))
		}
		mass := fmt.Sprintf("%.4g", b.Mass)
		if b.Fixed {
			mass = "fixed"
		}
		fmt.Fprintf(table, "%s\t%s\t%.3g %.3g %.3g\t%s\n", b.Name, mass, b.Inertia[0], b.Inertia[1], b.Inertia[2],
			strings.Join(shapes, ", "))
	}
	fmt.Fprintln(table, "\njoint\tof\tlimits degrees\tdamping N m s\tspring N m")
	for _, j := range m.Joints {
		for i, limits := range j.Limits {
			var p physics.Passive
			if i < len(j.Passive) {
				p = j.Passive[i]
			}
			fmt.Fprintf(table, "%s\t%s - %s\t%.4g to %.4g\t%.3g\t%.3g\n", j.Name, j.Parent, j.Child, limits[0], limits[1],
				p.Damping+j.Damping, p.Stiffness)
		}
	}
	fmt.Fprintln(table, "\nactuator\taxis\tstrength N m\tfeedback N m")
	for _, a := range m.Actuators {
		axis, servo := "all", ""
		if a.Axis > 0 {
			axis = fmt.Sprint(a.Axis)
		}
		if a.Servo != nil {
			servo = fmt.Sprintf("%.3g", a.Servo.Stiffness)
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
	fmt.Println()
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
