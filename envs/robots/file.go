package robots

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/qdnb/envs/physics"
)

// ReadFile reads a robot from a file of MuJoCo's XML, whose name ends in .xml ([ReadMJCF]), or of a
// configuration of Brax v1 ([ReadBrax]). It returns notes.
func ReadFile(path string) (physics.Model, []string, error) {
	file, err := os.Open(path)
	if err != nil {
		return physics.Model{}, nil, err
	}
	defer file.Close()
	read := ReadMJCF
	if !strings.EqualFold(filepath.Ext(path), ".xml") {
		read = ReadBrax
	}
	model, notes, err := read(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return model, notes, err
}
