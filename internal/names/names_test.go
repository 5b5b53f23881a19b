package names

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"map-elites", "pga-map-elites", "aurora", "pga-aurora", "diayn", "dads", "ant-uni", "ant-omni"}
	for name, want := range map[string]string{
		"map-elite": "map-elites", "mapelites": "map-elites", "MAP-Elites": "map-elites", "auroar": "aurora", "dasd": "dads",
		"ant-umi": "ant-uni", "pga-map": "pga-map-elites", "humanoid": "", "": "", "x": "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
	err := Unknown("env", "pointmase", []string{"pointmaze", "ant-uni"})
	if want := `unknown env "pointmase"; did you mean "pointmaze"? known: ant-uni, pointmaze`; err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
