package limits_test

import (
	"math"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/limits"
)

func TestLimits(t *testing.T) {
	type Base struct {
		Rate  float64 `json:"rate" limits:">0,1"`
		Share float64 `json:"share" limits:"0,1"`
	}
	type settings struct {
		Base
		Size   int     `json:"size,omitzero" limits:"1,9"`
		Steps  int64   `json:"steps" limits:"0"`
		Scale  float64 `json:"scale" limits:"-1e6,1e6"`
		Hidden []int   `json:"hidden" limits:"1"`
		Free   int
	}
	for want, change := range map[string]func(*settings){
		"": func(s *settings) { s.Share, s.Size, s.Scale, s.Hidden[0], s.Free = 0, 9, -3, 1<<14, -1 },
		"rate must be a number above 0 and at most 1, not 0":                func(s *settings) { s.Rate = 0 },
		"rate must be a number above 0 and at most 1, not NaN":              func(s *settings) { s.Rate = math.NaN() },
		"rate is 1e-60, which is 0 in float32: it must be at least 1.2e-38": func(s *settings) { s.Rate = 1e-60 },
		"share must be a number from 0 to 1, not 1.5":                       func(s *settings) { s.Share = 1.5 },
		"size must be between 1 and 9, not 0":                               func(s *settings) { s.Size = 0 },
		"steps must be at least 0, not -1":                                  func(s *settings) { s.Steps = -1 },
		"scale must be a number from -1e6 to 1e6, not +Inf":                 func(s *settings) { s.Scale = math.Inf(1) },
		"number of hidden layers must be between 1 and 16, not 0":           func(s *settings) { s.Hidden = nil },
		"hidden layers must have between 1 and 16384 units, not 0": func(s *settings) {
			s.Hidden = []int{8, 0}
		},
	} {
		s := settings{Base{1, 1}, 1, 0, 1, []int{1}, 0}
		change(&s)
		got := ""
		if err := limits.Of(&s); err != nil {
			got = err.Error()
		}
		errtest.Equal(t, "the error", got, want)
	}
}

type emitter interface{ Emit() }

type base struct {
	Rate float64 `json:"rate" limits:">0"`
}

func (base) Emit() {}

type aroundInterface struct{ emitter }

type aroundPointer struct{ *base }

// TestNilEmbeddedParts: a part that extends another one by embedding it, and was made without it, is named
// before one of its methods is called.
func TestNilEmbeddedParts(t *testing.T) {
	for want, part := range map[string]emitter{
		"": aroundInterface{base{1}},
		"limits_test.aroundInterface: the embedded emitter is nil": aroundInterface{},
		"limits_test.aroundPointer: the embedded base is nil":      &aroundPointer{},
		"rate must be a number above 0, not 0":                     aroundPointer{&base{}},
	} {
		got := ""
		if err := limits.Of(&struct {
			Part emitter `json:"-" parts:"part"`
		}{part}); err != nil {
			got = err.Error()
		}
		errtest.Equal(t, "the error", got, want)
	}
}
