//go:build unix

package paper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// What is said about the shipped runs is shown with them only, so notebooks say it in code. Only the finding at the
// top names its runs in text.
func TestRemarksAreOfShippedRuns(t *testing.T) {
	errtest.Equal(t, "own runs are said to be", must.Get(OfShipped(&Data{}, "the shipped runs")), "")
	remark := must.Get(OfShipped(&Data{About: &About{}}, "the shipped *runs*"))
	if sent := celltest.Displayed(t, func() error { return remark.Show("") }); len(sent) != 1 ||
		sent[0].Data[protocol.MIMETextMarkdown] != "the shipped *runs*" {
		t.Errorf("sent %v", sent)
	}
	paths := must.Get(filepath.Glob("../../notebooks/*.ipynb"))
	for _, path := range paths {
		var notebook struct {
			Cells []struct {
				Type   string `json:"cell_type"`
				Source []string
			}
		}
		must.Do(json.Unmarshal(must.Get(os.ReadFile(path)), &notebook))
		for _, cell := range notebook.Cells[1:] {
			if text := strings.Join(cell.Source, ""); cell.Type == "markdown" &&
				strings.Contains(strings.ToLower(text), "the shipped runs") {
				t.Errorf("%s says, whatever the runs: %s", path, text)
			}
		}
	}
	if len(paths) < 15 {
		t.Errorf("there are %d notebooks", len(paths))
	}
}
