package runs

import (
	"math"
	"reflect"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestNumbersComeBackAsTheyWere(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1e6: "1000000", -128: "-128", 0.1: "0.1", 1.0 / 3: "0.3333333333333333", 1e300: "1e+300",
		5e-324:       "5e-324",
		math.Inf(-1): "-inf", math.Inf(1): "inf", 251000.25: "251000.25",
		1 << 53:              "9.007199254740992e+15",
		math.Copysign(0, -1): "-0",
	} {
		if got := FormatNumber(v); got != want && !(v == 0) {
			t.Errorf("%v is written as %s, want %s", v, got, want)
		}
		table, err := parseTable([]byte("a\n" + FormatNumber(v) + "\n"))
		if err != nil || table.Rows[0][0] != v || math.Signbit(table.Rows[0][0]) != math.Signbit(v) {
			t.Errorf("%v came back as %v, %v", v, table, err)
		}
	}
	if table, err := parseTable([]byte("a\n" + FormatNumber(math.NaN()) +
		"\n")); err != nil || !math.IsNaN(table.Rows[0][0]) {
		t.Errorf("NaN came back as %v, %v", table, err)
	}
}

func TestTable(t *testing.T) {
	// the last row is incomplete
	table := must.Get(parseTable([]byte("generation,qd_score\n1,2.5\n2,-inf\n3,4")))
	if column, err := table.Column("qd_score"); err != nil || !reflect.DeepEqual(column,
		[]float64{2.5, math.Inf(-1)}) {
		t.Errorf("qd_score is %v, %v", column, err)
	}
	errtest.Want(t, errtest.Of(table.Column("qdscore")), `did you mean "qd_score"?`)
	for data, want := range map[string]string{
		"":                "no header",
		"generation":      "no header",
		"a,a\n":           "repeated",
		"a,\n":            "empty",
		"a,b\n1\n":        "wrong number of fields",
		"a,b\n1,2\n3,x\n": `line 3: b is "x"`,
		"a\n\"\n":         "quote",
	} {
		errtest.Want(t, errtest.Of(parseTable([]byte(data))), want)
	}
}
