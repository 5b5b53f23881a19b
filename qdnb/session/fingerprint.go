package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// tracedSteps is the number of steps whose programs a fingerprint covers.
const tracedSteps = 120

// Fingerprint hashes the programs of a training with code of its user: the StableHLO text of everything
// that the first steps run, and when, as for XLA:CPU with one worker, whatever backend runs it later. It
// opens no backend and computes nothing. Comments, names of variables and the seed have no effect;
// other versions of GoMLX and go-xla may build other programs from the same code. What the code does
// on the host is covered only as far as it changes a program, or by the facts, which are hashed, too.
func (t Training) Fingerprint(facts ...any) (string, error) {
	hash := sha256.New()
	fmt.Fprint(hash, facts...)
	platform, err := xla.DryRun(backend.CPU, 1, func(name string, text []byte) error {
		fmt.Fprintln(hash, name)
		_, err := hash.Write(text)
		return err
	})
	if err != nil {
		return "", err
	}
	search, err := t.search(platform)
	if err != nil {
		return "", err
	}
	defer search.Close()
	fmt.Fprintln(hash, search.Columns())
	for range tracedSteps {
		if _, err := search.Step(); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}
