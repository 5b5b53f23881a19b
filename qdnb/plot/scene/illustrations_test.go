package scene

import (
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// Package watch tests that each one is a film of its environment.
func TestIllustration(t *testing.T) {
	changed := must.Get(Illustration("ant-uni"))
	changed.Bodies[0].Shapes[0].Radius, changed.Frames[0][0].Position[2] = 9, 9
	if again, _ := Illustration("ant-uni"); again.Bodies[0].Shapes[0].Radius == 9 ||
		again.Frames[0][0].Position[2] == 9 {
		t.Error("a change of one illustration changes the next")
	}
	errtest.Want(t, errtest.Of(Illustration("ant")), "ant-uni")
}
