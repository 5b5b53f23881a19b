//go:build unix

package tables_test

import (
	"fmt"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/errtest"
)

// In a notebook a table is HTML with plain text as an alternative.
func TestShowInANotebook(t *testing.T) {
	data := celltest.Displayed(t, func() error { return sample().Show("scores") })[0].Data
	errtest.Equal(t, "what is sent", fmt.Sprint(len(data), data[protocol.MIMETextHTML], data[protocol.MIMETextPlain]),
		fmt.Sprint(2, sample().HTML(), sample().Text()))
}
