package exchange

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"example.com/qdnb/internal/npz"
)

type floats struct {
	Shape []int
	data  []float32
	rows  [][]float32 // instead of data; a row of zeros may be nil
}

// npyFile returns the path of an .npy file as its name, and a function that reads it.
func npyFile(path string) (string, func() (npz.Array, error)) {
	return path, func() (npz.Array, error) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return npz.Array{}, fmt.Errorf("%s is a folder, not an .npy file", path)
		}
		a, err := npz.ReadNPY(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no file %s", path)
		}
		return a, err
	}
}

// readFloats reads an array of float32, or of float64, which it rounds. Other types are errors.
func readFloats(name string, read func() (npz.Array, error)) (floats, error) {
	a, err := read()
	if err != nil {
		return floats{}, err
	}
	if t := a.DType(); t != "float32" && t != "float64" {
		return floats{}, fmt.Errorf("%s has type %s, not float32 or float64", name, t)
	}
	data, err := a.Float32s()
	return floats{Shape: a.Shape, data: data}, err
}

// repertoireArrays maps the arrays of a repertoire to their number of axes.
var repertoireArrays = map[string]int{"genotypes": 2, "fitnesses": 1, "descriptors": 2,
	"centroids": 2}

// readRepertoire reads the arrays of a repertoire from an .npz file, from a folder with one .npy
// file per array, or from a folder with repertoire.npz.
func readRepertoire(path string) (map[string]floats, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("there is no repertoire %s: give a folder with genotypes.npy, "+
			"fitnesses.npy, descriptors.npy and centroids.npy, or an .npz file", path)
	}
	file := path
	if info.IsDir() {
		file = filepath.Join(path, "repertoire.npz")
		if _, err := os.Stat(filepath.Join(path, "genotypes.npy")); err == nil {
			file = ""
		} else if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("%s has neither genotypes.npy nor repertoire.npz", path)
		}
	}
	var archive *npz.Reader
	if file != "" {
		if archive, err = npz.Open(file); err != nil {
			return nil, err
		}
		defer archive.Close()
	}
	arrays := map[string]floats{}
	for _, name := range slices.Sorted(maps.Keys(repertoireArrays)) {
		source, read := npyFile(filepath.Join(path, name+".npy"))
		if archive != nil {
			source, read = fmt.Sprintf("%s: %s", file, name), func() (npz.Array, error) {
				a, err := archive.Read(name)
				if err != nil {
					err = fmt.Errorf("%s: %w", file, err)
				}
				return a, err
			}
		}
		a, err := readFloats(source, read)
		if err != nil {
			return nil, err
		}
		// Newer versions of QDax add an axis of objectives.
		if name == "fitnesses" && len(a.Shape) == 2 && a.Shape[1] == 1 {
			a.Shape = a.Shape[:1]
		}
		if axes := repertoireArrays[name]; len(a.Shape) != axes {
			return nil, fmt.Errorf("%s has shape %v, not %s", source, a.Shape,
				[]string{"", "[cells]", "[cells, numbers]"}[axes])
		}
		arrays[name] = a
	}
	return arrays, nil
}

// digest returns the SHA-256 of the names, shapes and values of arrays. It does not depend on the
// file format.
func digest(arrays map[string]floats) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		a := arrays[name]
		fmt.Fprintln(sum, name, a.Shape)
		if a.rows == nil {
			a.rows = [][]float32{a.data}
		}
		var zeros []float32
		for _, row := range a.rows {
			if row == nil { // left out
				if zeros == nil {
					zeros = make([]float32, a.Shape[1])
				}
				row = zeros
			}
			_ = binary.Write(sum, binary.LittleEndian, row) // a hash never fails
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
