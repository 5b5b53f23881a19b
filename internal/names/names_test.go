package names

import (
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
)

func TestNearest(t *testing.T) {
	known := []string{"map-elites", "pga-map-elites", "aurora", "pga-aurora", "diayn", "dads",
		"ant-uni", "ant-omni", "batch", "ae_learning_rate"}
	for name, want := range map[string]string{ // with a comma between several
		"map-elite": "map-elites", "mapelites": "map-elites", "MAP-Elites": "map-elites",
		"auroar": "aurora", "dasd": "dads",
		"ant-umi": "ant-uni", "pga-map": "pga-map-elites", "humanoid": "", "": "", "x": "",
		"ant": "ant-uni,ant-omni", "pga": "pga-map-elites,pga-aurora", "batch_size": "batch",
		"learning_rate": "ae_learning_rate", "at": "",
	} {
		errtest.Equal(t, "nearest to "+name, strings.Join(Nearest(name, known), ","), want)
	}
	err := Unknown("env", "pointmase", []string{"pointmaze", "ant-uni"})
	want := `unknown env "pointmase"; did you mean "pointmaze"? known: ant-uni, pointmaze`
	errtest.Equal(t, "the error", err.Error(), want)
	err = Unknown("env", "ant", []string{"pointmaze", "ant-uni", "ant-trap", "ant-omni"})
	want = `unknown env "ant"; did you mean "ant-omni", "ant-trap" or "ant-uni"? known: ant-omni, ` +
		"ant-trap, ant-uni, pointmaze"
	errtest.Equal(t, "the error", err.Error(), want)
	want = `unknown keyframe "home": there is none, so leave it out`
	errtest.Equal(t, "of none", Unknown("keyframe", "home", nil).Error(), want)
}

// Text from a file cannot break a line or fill a page.
func TestTextOfFilesIsShownInALine(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	for text, want := range map[string]string{"seed": "seed", "größe 3": "größe 3", "a\nb": `"a\nb"`,
		"\x1b[2J": `"\x1b[2J"`, long: long[:240] + "..."} {
		errtest.Equal(t, text, Plain(text), want)
	}
	errtest.Equal(t, "a quoted text", Quote("a\tb"), `"a\tb"`)
	errtest.Equal(t, "a list", List([]string{"a", "b\n"}), `a, "b\n"`)
	if got := List(make([]string, 300)); !strings.HasSuffix(got, ", and 100 more") {
		t.Error(got)
	}
}

func TestColumns(t *testing.T) {
	got := Columns([]string{"loss", "loss", "loss_2", "final", "", " ", "a, \"b\"\n", "高度", "loss"}, "final")
	want := []string{"loss", "loss_2", "loss_2_2", "final_2", "column", "column_2", "a___b_", "高度", "loss_3"}
	errtest.Equal(t, "the lines", got, want)
}
