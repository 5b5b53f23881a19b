package paper

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// everyColumn has the columns of all kinds of runs.
const everyColumn = "generation,evaluations,env_steps,seconds,max_fitness,coverage,qd_score," +
	"index,x,y,skill,fitness_median,fitness_mean,fitness_std,hurdles_mean,hurdles_max\n"

// hostileFolder writes an experiments folder with all kinds of runs, whose files are to be
// overwritten.
func hostileFolder(f *testing.F) (dir string, files []string) {
	dir = f.TempDir()
	var lines []sweep.Line
	for _, l := range []struct{ experiment, label, algorithm, env, hyperparameters string }{
		{"training", "map-elites", "map-elites", "ant-uni", `{"iso_sigma":0.005,"line_sigma":0.05}`},
		{"training", "dads-reward", "dads-reward", "ant-uni",
			`{"diversity_reward_scale":2,"alpha_init":0.1}`},
		{"training", "map-elites", "map-elites", "ant-omni", `{}`},
		{"smerl-targets", "sac", "sac", "ant-maze", `{}`},
		{"reward", "dads", "dads", "ant-uni", `{}`},
		{"sensitivity", "map-elites", "map-elites", "ant-uni", `{"iso_sigma":0.01,"line_sigma":0.1}`},
		{"prior", "dads-reward", "dads-reward", "ant-omni", `{"descriptor_full_state":false}`},
		{"prior", "dads-reward, no prior", "dads-reward", "ant-omni", `{"descriptor_full_state":true}`},
		{"adaptation", "map-elites", "adaptation", "ant-uni",
			`{"skills":"map-elites-ant-uni-0-00000000","perturbation":"gravity"}`},
		{"adaptation", "map-elites", "adaptation", "ant-maze",
			`{"skills":"map-elites-ant-maze-0-00000000","perturbation":"target"}`},
		{"hurdles", "map-elites", "hierarchical-control", "halfcheetah-hurdles",
			`{"skills":"map-elites-halfcheetah-uni-0-00000000"}`},
	} {
		c := must.Get(runs.NewConfig(l.algorithm, l.env, 0, json.RawMessage(l.hyperparameters)))
		w := must.Get(runs.Create(filepath.Join(dir, RunsFolder), c))
		files = append(files, w.Dir)
		must.Do(w.Close())
		lines = append(lines, sweep.Line{Experiment: l.experiment, Label: l.label, Run: c})
	}
	file := must.Get(os.Create(filepath.Join(dir, PlanFile)))
	defer file.Close()
	must.Do(sweep.Write(file, lines))
	return dir, files
}

// FuzzItems makes a figure or a table from runs with arbitrary file contents.
func FuzzItems(f *testing.F) {
	const status = `{"generation":3,"evaluations":30,"env_steps":3000,"seconds":9,` +
		`"max_fitness":5,"coverage":50,"qd_score":70,"finished":true,"budget":{"generations":3}}`
	const rows = "1,10,1000,3,1,20,10,0,0.5,nan,1,7,7,8,1,2\n" +
		"2,20,2000,6,2,30,20,1,1,nan,1,9,7,8,1,2\n" +
		"3,30,3000,9,5,50,70,1,1,nan,2,10,7,8,1,2\n"
	const cells = "fitnesses <f4 4, 5 4 -inf 1\ndescriptors <f4 4,2 0.2 0.2 0.8 0.2 0.2 0.8 0.8 " +
		"0.8\ncentroids <f4 4,2 0.2 0.2 0.8 0.2 0.2 0.8 0.8 0.8\n" +
		"descriptor_min <f4 2, 0\ndescriptor_max <f4 2, 1\nqd_offset <f8 1, 0\ngeneration <i8  " +
		"2\nevaluations <i8  20\nenv_steps <i8  2000\nseconds <f8  6"
	const skills = "observations <i8  2\nactions <i8  1\nskills <i8  2\nhidden <i8 1, 3\npolicy <f4 " +
		"23,\nwhich <i4 2, 0 1\nfitnesses <f4 2, 1 2\n" +
		"descriptors <f4 2,2 0.5\ntrajectories <f4 2,3,2 1 2 3"
	// the remaining items need runs
	items := slices.DeleteFunc(Items(), func(item Item) bool { return len(item.Experiments) == 0 })
	for i := range items {
		f.Add(status, rows, cells, skills, uint8(i))
	}
	f.Add(status, "nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan\n",
		"fitnesses <f4 0,\ndescriptors <f4 0,2\ncentroids <f4 0,2", skills, uint8(2))
	f.Add(status, "1,1,1e300,-1e300,1e300,1e300,-1e300,1e300,inf,-inf,-1e300,1e300,1e300,1e300,"+
		"1e300,1e300\n", cells, "", uint8(3))
	f.Add(status, "",
		"fitnesses <f4 3, 1e38 -1e38 nan\ndescriptors <f4 3,1 nan\ncentroids <f4 3,1 "+
			"inf\ndescriptor_min <f4 1, 3\ndescriptor_max <f4 1, 3", skills, uint8(4))
	f.Add("{", "\n", "", "", uint8(5))
	dir, files := hostileFolder(f)
	f.Fuzz(func(t *testing.T, status, rows, cells, skills string, which uint8) {
		write := func(path, text string) { must.Do(os.WriteFile(path, []byte(text), 0o666)) }
		for _, run := range files {
			write(filepath.Join(run, "status.json"), status)
			write(filepath.Join(run, "metrics.csv"), everyColumn+rows)
			archive := string(hostile.Archive(cells))
			write(filepath.Join(run, "repertoire.npz"), archive)
			write(filepath.Join(run, "snapshots", "gen-000000002.npz"), archive)
			write(filepath.Join(run, "skills.npz"), string(hostile.Archive(skills)))
		}
		data, err := Open(dir)
		hostile.Error(t, err)
		if err != nil {
			return
		}
		for _, problem := range data.Problems {
			hostile.Error(t, problem)
		}
		item := items[int(which)%len(items)]
		if err := produce(item, data); err != nil {
			hostile.Error(t, fmt.Errorf("%s: %w", item.ID, err))
		}
		if which%16 == 0 {
			_, err := data.Write(t.TempDir())
			hostile.Error(t, err)
		}
	})
}

// produce makes an item, then draws or writes it.
func produce(item Item, data *Data) error {
	if item.Table != nil {
		table, err := item.Table(data)
		if err != nil {
			return err
		}
		_ = table.Markdown() + table.CSV() + table.LaTeX() + table.HTML() + table.Text()
		return nil
	}
	grid, err := item.Figure(data)
	if err != nil {
		return err
	}
	figure, err := grid.Figure()
	if err != nil {
		return err
	}
	_, err = figure.PNG(40)
	return err
}
