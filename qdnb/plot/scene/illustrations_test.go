package scene

import (
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestIllustrations(t *testing.T) {
	for _, name := range []string{"ant-trap", "ant-maze", "pointmaze", "ant-uni", "ant-omni",
		"walker-uni", "halfcheetah-uni", "halfcheetah-hurdles",
		"ant-uni leg", "walker-uni leg", "halfcheetah-uni leg", "ant-maze targets"} {
		film, err := Illustration(name)
		if err == nil {
			err = film.Check()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	changed := must.Get(Illustration("ant-uni"))
	changed.Bodies[0].Shapes[0].Radius, changed.Frames[0][0].Position[2] = 9, 9
	if again, _ := Illustration("ant-uni"); again.Bodies[0].Shapes[0].Radius == 9 ||
		again.Frames[0][0].Position[2] == 9 {
		t.Error("a change of one illustration changes the next")
	}
	errtest.Want(t, errtest.Of(Illustration("ant")), "ant-uni")
}
