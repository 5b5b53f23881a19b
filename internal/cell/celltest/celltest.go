//go:build unix

// Package celltest plays a notebook for tests of what shows something in one.
package celltest

import (
	"encoding/gob"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Displayed is what a function displays in a notebook. The test plays the kernel's end of the two named pipes by which a cell's program
// talks to it.
func Displayed(t *testing.T, show func() error) *protocol.DisplayData {
	t.Helper()
	dir := t.TempDir()
	toKernel, fromKernel := filepath.Join(dir, "to"), filepath.Join(dir, "from")
	for variable, pipe := range map[string]string{protocol.GONB_PIPE_ENV: toKernel, protocol.GONB_PIPE_BACK_ENV: fromKernel} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, pipe)
	}
	gonbui.IsNotebook = true
	defer func() { gonbui.IsNotebook = false }()

	received := make(chan *protocol.DisplayData, 1)
	ends := make(chan error, 2)
	go func() { ends <- playKernel(toKernel, fromKernel, received) }()
	go func() { ends <- show() }()
	for range 2 {
		select {
		case err := <-ends:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(5 * time.Minute):
			t.Fatal("it is not displayed")
		}
	}
	return <-received
}

// playKernel passes on what is to be displayed and answers the request to synchronise that follows.
func playKernel(toKernel, fromKernel string, received chan<- *protocol.DisplayData) error {
	in, err := os.Open(toKernel)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(fromKernel, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	decoder := gob.NewDecoder(in)
	shown, request := new(protocol.DisplayData), new(protocol.DisplayData)
	if err := decoder.Decode(shown); err != nil {
		return err
	}
	received <- shown
	if err := decoder.Decode(request); err != nil {
		return err
	}
	sync, ok := request.Data[protocol.MIMECommValue].(protocol.CommValue)
	if !ok {
		return os.ErrInvalid
	}
	return gob.NewEncoder(out).Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: sync.Value})
}
