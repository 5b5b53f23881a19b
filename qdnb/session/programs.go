package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Program is the text of a program as the compiler gets it: StableHLO.
type Program struct {
	Name string // unique in a list: the second one called "evaluate" is "evaluate-2"
	Text []byte
}

// Programs returns the distinct programs that build compiles for a kind of backend with the given
// number of devices. No such device is needed; see [xla.DryRun].
func Programs(kind backend.Kind, devices int, build func(*xla.Platform) error) (list []Program, err error) {
	platform, err := xla.DryRun(kind, devices, func(name string, text []byte) error {
		name = strings.ReplaceAll(name, "_", "-")
		for number := 1; text != nil; number++ {
			unique := name
			if number > 1 {
				unique = fmt.Sprintf("%s-%d", name, number)
			}
			i := slices.IndexFunc(list, func(p Program) bool { return p.Name == unique })
			if i < 0 {
				list = append(list, Program{unique, text})
			}
			if i < 0 || bytes.Equal(list[i].Text, text) {
				break
			}
		}
		return nil
	})
	if err == nil {
		err = build(platform)
	}
	return list, err
}

// Hash returns the first sixteen hexadecimal digits of the SHA-256 of the program's text.
func (p Program) Hash() string { return hash(p.Text) }

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// programSteps is the number of generations after which an algorithm has built all of its programs:
// AURORA adapts its threshold first after 40.
const programSteps = 42

// Programs returns the programs of the training; see [Programs].
func (t Training) Programs(kind backend.Kind, devices int) ([]Program, error) {
	return Programs(kind, devices, func(p *xla.Platform) error { return t.Steps(p, programSteps) })
}

// Digest identifies the programs of the training, whatever its seed and budget, and whatever machine
// and backend compute it: a hash of their names and texts for XLA:CPU with one worker. It takes a
// fraction of a second.
func (t Training) Digest() (string, error) { return digest(t.Programs(backend.CPU, 1)) }

func digest(list []Program, err error) (string, error) {
	var all []byte
	for _, p := range list {
		all = fmt.Appendln(all, p.Name, p.Hash())
	}
	return hash(all), err
}
