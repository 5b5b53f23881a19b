package runs

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
)

// Folder is the folder of runs of programs and commands, which run in the current folder, and of
// notebooks, whose cells run in the folder of the notebook; see [FolderFor].
func Folder() string { return FolderFor("") }

// FolderFor returns where the runs that a file such as a plan describes lie unless the caller names a
// folder: in $QDNB_RUNS if set, else in the folder "runs" next to the file.
func FolderFor(file string) string {
	return cmp.Or(os.Getenv("QDNB_RUNS"), filepath.Join(filepath.Dir(file), "runs"))
}

// Load opens a run by the path of its folder or by its name in [Folder]. A prefix is enough if it
// is unique: Load("map-elites-pointmaze-0"). Runs in whose names a dash follows it come first, so
// that seed 1 is not seed 10. If several runs match, the error lists the settings in which they
// differ. qdnb.Load opens the run of a Spec.
func Load(target string) (*Run, error) { return LoadFrom(Folder(), target) }

// LoadFrom is [Load] with another folder of runs.
func LoadFrom(root, target string) (*Run, error) {
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		return Open(target)
	}
	dir, prefix := filepath.Split(target)
	if dir != "" {
		root = filepath.Clean(dir)
	}
	found, broken, err := Find(root, prefix+"-*") // seed 1, not seed 10
	if err == nil && len(found)+len(broken) == 0 {
		found, broken, err = Find(root, prefix+"*")
	}
	switch {
	case err != nil:
		return nil, err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && len(broken) > 0:
		return nil, broken[0]
	case len(found) == 0:
		advice := "train it first"
		if others := nearby(prefix); dir == "" && len(others) > 0 {
			advice = "did you mean " + strings.Join(others, " or ") + "?"
		} else if others := similar(root, prefix); len(others) > 0 {
			advice += ", or did you mean " + strings.Join(others, " or ") + "?"
		}
		return nil, names.Wrongf("no run %q, neither as a folder nor in %s; %s", target, root, advice)
	}
	return nil, names.Wrongf("%d runs begin with %q; give a longer prefix:%s", len(found), target, candidates(found))
}

// similar returns at most three names of runs in a folder, without their hashes, that a misspelt name may mean.
func similar(root, name string) []string {
	var known []string
	configs, _ := filepath.Glob(filepath.Join(root, "*", configFile))
	for _, config := range configs {
		known = lists.With(known, hashInName.ReplaceAllString(filepath.Base(filepath.Dir(config)), ""))
	}
	found := names.Nearest(hashInName.ReplaceAllString(name, ""), known)
	return found[:min(len(found), 3)]
}

// nearby returns at most three runs with a prefix in other folders "runs" than the default one.
func nearby(prefix string) []string {
	if prefix == "" || strings.ContainsAny(prefix, `*?[\`) {
		return nil
	}
	found := elsewhere(prefix + "*")
	return found[:min(len(found), 3)]
}

// Elsewhere lists the folders "runs" next to and below the current folder that have runs.
func Elsewhere() (folders []string) {
	for _, dir := range elsewhere("*") {
		folders = lists.With(folders, filepath.Dir(dir))
	}
	return folders
}

// elsewhere lists runs whose names match a pattern in other folders "runs" than the default one.
func elsewhere(pattern string) (found []string) {
	for _, folder := range []string{"..", "*", filepath.Join("*", "*")} {
		configs, _ := filepath.Glob(filepath.Join(folder, "runs", pattern, configFile))
		found = append(found, lists.Map(configs, filepath.Dir)...)
	}
	return found
}

const maxCandidates = 20

// candidates lists runs, one per line, with the settings in which runs with the same algorithm,
// environment and seed differ.
func candidates(found []*Run) string {
	settings, shared, size := make([][]string, len(found)), map[string]int{}, map[string]int{}
	group := func(r *Run) string { return strings.TrimSuffix(r.Name(), r.Config.Hash()) }
	for i, run := range found {
		settings[i], _ = run.Config.Assignments() // Open has checked them
		for _, name := range slices.Sorted(maps.Keys(run.Config.Parts)) {
			settings[i] = append(settings[i], name+"="+run.Config.Parts[name])
		}
		size[group(run)]++
		for _, setting := range settings[i] {
			shared[group(run)+setting]++
		}
	}
	var lines strings.Builder
	for i, run := range found {
		if i == maxCandidates {
			fmt.Fprintf(&lines, "\n  and %d more", len(found)-i)
			break
		}
		lines.WriteString("\n  " + run.Name())
		differing := slices.DeleteFunc(settings[i], func(setting string) bool {
			return shared[group(run)+setting] == size[group(run)]
		})
		if len(differing) > 0 {
			lines.WriteString(" (" + names.Plain(strings.Join(differing, ", ")) + ")")
		}
	}
	return lines.String()
}
