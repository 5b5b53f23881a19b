package claims

import (
	"math"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/protocol"
)

// The paper's methods by family.
var (
	neuroevolution = protocol.Neuroevolution()
	reinforcement  = protocol.Reinforcement()
	pga            = protocol.With("pga")
	methods        = protocol.Compared()
)

var (
	environments = protocol.Environments()
	gaits        = protocol.Gaits()
	grids        = protocol.GridEnvironments()
)

// Numbers for the paper's words.
const (
	// "on the level of", "similar", "matches": the medians differ by at most this fraction of the
	// larger
	level      = 0.2
	trapped    = 500  // max fitness on ant-trap without leaving the trap; 449 in the paper
	nearlyFull = 90   // "near full coverage", in percent
	repeatedly = 2    // "jump repeatedly": hurdles per episode
	littleLoss = 0.75 // "loses little": fraction of the score that is kept
	minGrid    = 4    // settings required for the spread of a grid; 9 in the paper
	minSeeds   = 3    // seeds of each method required for a verdict
	margin     = 0.1  // "does not find": lower by more than this fraction, which is SMERL's margin
	farDrop    = 0.65 // "drops of 70 %": at least this fraction
	collapsed  = 0.5  // "collapse": less than this fraction is left
	minIQM     = 4    // seeds from which the interquartile mean differs from the mean
)

// list has the claims in the order of reports. Each group is in a file with its checks.
var list = slices.Concat(ofScores, ofAdaptation, ofHurdles, ofSensitivity, ofRewards, ofAverages,
	ofAblations)

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// similar reports whether two medians differ by at most the fraction level of the larger.
func similar(a, b float64) bool { return math.Abs(a-b) <= level*max(math.Abs(a), math.Abs(b)) }

// closeTo reports whether median a is at most the fraction level below median b.
func closeTo(a, b float64) bool { return a >= b-level*math.Abs(b) }
