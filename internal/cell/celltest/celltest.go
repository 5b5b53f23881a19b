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

// kernel is the kernel's end of the two named pipes by which a cell's program talks to it.
type kernel struct {
	displayed chan *protocol.DisplayData
	broken    chan error
}

// connected is the one that this process talks to: gonbui opens the pipes once.
var connected *kernel

// Displayed is what a function displays in a notebook, whose kernel the test plays. Tests that display something take turns.
func Displayed(t *testing.T, show func() error) *protocol.DisplayData {
	t.Helper()
	if connected == nil {
		connected = &kernel{make(chan *protocol.DisplayData, 1), make(chan error, 1)}
		dir := t.TempDir()
		in, out := filepath.Join(dir, "to"), filepath.Join(dir, "from")
		for variable, pipe := range map[string]string{protocol.GONB_PIPE_ENV: in, protocol.GONB_PIPE_BACK_ENV: out} {
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv(variable, pipe)
		}
		go func() { connected.broken <- connected.play(in, out) }()
	}
	gonbui.IsNotebook = true
	defer func() { gonbui.IsNotebook = false }()

	ended := make(chan error, 1)
	go func() { ended <- show() }()
	select {
	case err := <-connected.broken:
		t.Fatal(err)
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it is not displayed")
	}
	select {
	case data := <-connected.displayed: // before the answer that show waits for
		return data
	default:
		t.Fatal("nothing is displayed")
		return nil
	}
}

// play passes on what is to be displayed and answers the requests to synchronise that follow.
func (k *kernel) play(toKernel, fromKernel string) error {
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
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		data := new(protocol.DisplayData)
		if err := decoder.Decode(data); err != nil {
			return err
		}
		sync, ok := data.Data[protocol.MIMECommValue].(protocol.CommValue)
		if !ok {
			k.displayed <- data
			continue
		}
		if err := encoder.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: sync.Value}); err != nil {
			return err
		}
	}
}
