package claims

import (
	"math"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/results"
)

// The methods of the paper's comparison, by family.
var (
	neuroevolution = results.Neuroevolution()
	reinforcement  = results.Reinforcement()
	pga            = []string{"pga-map-elites", "pga-aurora"}
	methods        = slices.Concat(neuroevolution, reinforcement)
)

// The environments.
var (
	environments = results.Environments()
	// whose descriptor are contacts
	gaits = []string{"ant-uni", "walker-uni", "halfcheetah-uni"}
	grids = []string{"ant-omni", "ant-uni", "walker-uni", "halfcheetah-uni"}
)

// What the paper's words mean here.
const (
	// "on the level of", "similar", "matches": medians that differ by at most this part of the
	// larger
	level      = 0.2
	most       = 0.5  // "on most tasks": more than this part of them
	mostly     = 0.75 // a statement over many multipliers: at least this part of them
	trapped    = 500  // max fitness on ant-trap of those who stay in the trap; 449 in the paper
	nearlyFull = 90   // "near full coverage", in per cent
	repeatedly = 2    // "jump repeatedly": hurdles per episode
	littleLoss = 0.75 // "loses little": part of the score that is kept
	minGrid    = 4    // settings of a grid that a spread needs; 9 in the paper
	minSeeds   = 3    // seeds of each method that a verdict needs
	margin     = 0.1  // "does not find": below by more than this part, which is SMERL's margin
	farDrop    = 0.65 // "drops of 70 %": at least this part
	collapsed  = 0.5  // "collapse": less than this part is left
	minIQM     = 4    // seeds from which on the interquartile mean is not the mean
)

// list has the claims, in the order in which they are told. Each group has a file, with what its
// checks need.
var list = slices.Concat(ofScores, ofAdaptation, ofHurdles, ofSensitivity, ofRewards, ofAverages,
	ofAblations)

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// similar tells whether two medians differ by at most a part of the larger.
func similar(a, b float64) bool { return math.Abs(a-b) <= level*max(math.Abs(a), math.Abs(b)) }

// closeTo tells whether a median is at most a part below another one.
func closeTo(a, b float64) bool { return a >= b-level*math.Abs(b) }
