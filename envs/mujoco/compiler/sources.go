package compiler

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/names"
)

// keyOf returns the name under which the compiled model of a file is kept: a hash of the file, of all
// files that it may refer to, the scripts and the version of MuJoCo.
func keyOf(path string) (string, error) {
	if text, err := os.ReadFile(path); err != nil {
		return "", names.File(err, want)
	} else if len(text) == 0 {
		return "", errors.New("the file is empty: restore it")
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %q %q ", mujoco.Version, modelScript, compileScript)
	for _, name := range sources(path) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			continue // a file that appears later changes the hash
		}
		fmt.Fprintf(hash, "%q %d ", filepath.Base(name), len(data))
		hash.Write(data)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// sources lists the files that MuJoCo may read to compile a file, relative to its folder: each name
// in an attribute "file" and the like, in each folder in which it may be. Not all of them exist.
func sources(path string) []string {
	root := filepath.Dir(path)
	found, folders, named := map[string]bool{}, map[string]bool{"": true}, map[string]bool{}
	for queue := []string{filepath.Base(path)}; len(queue) > 0; queue = queue[1:] {
		file := queue[0]
		data, err := os.ReadFile(filepath.Join(root, file))
		if found[file] || err != nil {
			continue
		}
		found[file] = true
		folders[filepath.Dir(file)] = true
		for decoder := xml.NewDecoder(bytes.NewReader(data)); ; {
			token, err := decoder.Token()
			if err != nil {
				break // the end, or a mistake, which MuJoCo reports
			}
			element, _ := token.(xml.StartElement)
			for _, a := range element.Attr {
				switch name := strings.ToLower(a.Name.Local); {
				case name == "meshdir", name == "texturedir", name == "assetdir":
					folders[a.Value] = true
				case !strings.HasPrefix(name, "file"): // file, fileright, filename
				default:
					named[a.Value], named[filepath.Base(a.Value)] = true, true
					if ext := strings.ToLower(filepath.Ext(a.Value)); ext == ".xml" || ext == ".urdf" {
						queue = append(queue, a.Value, filepath.Join(filepath.Dir(file), a.Value))
					}
				}
			}
		}
	}
	for folder := range folders {
		for name := range named {
			if !filepath.IsAbs(name) {
				name = filepath.Join(folder, name)
			}
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
