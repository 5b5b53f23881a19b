package envs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// What a simulator writes besides its answers is an error, at the latest before the next request:
// it would be taken for the next answer, and all later results would belong to other genotypes.
func TestStrayOutputOfAProcess(t *testing.T) {
	const facts = `{"name": "line", "observations": 0, "actions": 1, "length": 1, "descriptor": ` +
		`{"components": ["x"], "lower": [0], "upper": [1]}}`
	answer := func(fitness, descriptors string) string {
		return fmt.Sprintf(`{"fitness": "%s", "descriptors": "%s"}`, fitness, descriptors)
	}
	good, genotypes := answer("AACAPw==", "AACAPw=="), [][]float32{{1}}
	for _, c := range []struct{ script, want string }{
		{"echo '" + good + "'; read line; echo '" + good + "'; read line", ""},
		{"printf '" + good + "\n" + good + "\n'; read line", "wrote \"{\\\"fitness"},
		{"echo '" + good + "'; echo done; read line; echo '" + good + "'; read line", "wrote \"done\""},
		{"printf '" + good + "\n.'; read line; echo '" + good + "'", "wrote \".\""},
		{"echo '" + good + " x'; read line", "is no message"},
		{"echo '" + answer("AACAPwE=", "AACAPw==") + "'; read line", "5 bytes of fitnesses and 4 of descriptors"},
		{"echo '" + answer("AACAPw==", "AACAPwEB") + "'; read line", "4 bytes of fitnesses and 6 of descriptors"},
	} {
		s, stop, err := StartProcess(t.Context(), "sh", "-c", "echo '"+facts+"'; read line; "+c.script)
		must.Do(err)
		for range 2 {
			var results []Result
			if results, err = s.Evaluate(context.Background(), genotypes); err != nil {
				break
			}
			errtest.Equal(t, c.script, fmt.Sprint(len(results), results[0].Fitness, results[0].Descriptor[0]), "1 1 1")
			time.Sleep(100 * time.Millisecond) // until the script waits for the next line
		}
		stop()
		if c.want != "" {
			errtest.Want(t, err, c.want)
		} else if err != nil {
			t.Error(err)
		}
	}
	_, _, err := StartProcess(t.Context(), "sh", "-c", "printf '"+facts+"\nhello\n'; read line")
	errtest.Want(t, err, `wrote "hello" after its message`)
	if strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
