// Package celltest emulates a notebook for tests of code that displays output in one.
package celltest

import (
	"encoding/gob"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
)

// kernel is the kernel's end of the two named pipes over which a cell's program communicates.
type kernel struct {
	broken chan error

	mu        sync.Mutex
	displayed []*protocol.DisplayData
}

// take returns what was displayed since the last call.
func (k *kernel) take() []*protocol.DisplayData {
	k.mu.Lock()
	defer k.mu.Unlock()
	taken := k.displayed
	k.displayed = nil
	return taken
}

// connected is the kernel of this process, or nil: gonbui opens the pipes once.
var connected *kernel

// Displayed returns what a function displays in an execution of a cell whose kernel the test emulates: at least
// one output. Tests that call it must not run in parallel.
func Displayed(t *testing.T, show func() error) []*protocol.DisplayData {
	t.Helper()
	if connected == nil {
		connected = &kernel{broken: make(chan error, 1)}
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
	cell.Execution()
	gonbui.IsNotebook = true
	defer func() { gonbui.IsNotebook = false }()
	connected.take()

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
		t.Fatal("timed out waiting for the display")
	}
	data := connected.take() // data arrives before the answers that show waits for
	if len(data) == 0 {
		t.Fatal("nothing is displayed")
	}
	return data
}

// play collects displayed data and answers the synchronisation requests that follow.
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
		request, ok := data.Data[protocol.MIMECommValue].(protocol.CommValue)
		if !ok {
			k.mu.Lock()
			k.displayed = append(k.displayed, data)
			k.mu.Unlock()
			continue
		}
		if err := encoder.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: request.Value}); err != nil {
			return err
		}
	}
}
