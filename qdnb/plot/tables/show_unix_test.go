//go:build unix

package tables_test

import (
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell/celltest"
)

// In a notebook a table is HTML with plain text as an alternative.
func TestShowInANotebook(t *testing.T) {
	data := celltest.Displayed(t, func() error { return sample().Show("scores") })[0].Data
	if len(data) != 2 || data[protocol.MIMETextHTML] != sample().HTML() || data[protocol.MIMETextPlain] != sample().Text() {
		t.Errorf("sent %v", data)
	}
}
