//go:build unix

package figures

import (
	"encoding/gob"
	"image"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Show sends a PNG of double resolution with the size that the notebook shall give it. The test plays the kernel's end
// of the two named pipes by which a cell's program talks to it.
func TestShowInANotebook(t *testing.T) {
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
	failed := make(chan error, 1)
	go func() { failed <- playKernel(toKernel, fromKernel, received) }()

	f, err := RepertoireMap(sampleCells())
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan error, 1)
	go func() { shown <- Show("repertoire", f) }()
	for range 2 {
		select {
		case err := <-failed:
			if err != nil {
				t.Fatal(err)
			}
		case err := <-shown:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("Show does not return")
		}
	}

	data := <-received
	png, ok := data.Data[protocol.MIMEImagePNG].([]byte)
	if !ok || len(data.Data) != 1 {
		t.Fatalf("sent %d formats, image/png among them: %v", len(data.Data), ok)
	}
	size, ok := data.Metadata["image/png"].(map[string]int)
	if !ok {
		t.Fatalf("metadata %v", data.Metadata)
	}
	if bounds := decode(t, png).Bounds(); !near(bounds, size["width"], size["height"]) {
		t.Errorf("image of %v, shown at %v", bounds, size)
	}
}

// near tells whether an image has twice the given size, up to rounding.
func near(b image.Rectangle, width, height int) bool {
	return max(b.Dx()-2*width, 2*width-b.Dx(), b.Dy()-2*height, 2*height-b.Dy()) <= 1
}

// playKernel passes on the figure it receives and answers the request to synchronise that follows.
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
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	figure := new(protocol.DisplayData)
	if err := decoder.Decode(figure); err != nil {
		return err
	}
	received <- figure
	request := new(protocol.DisplayData)
	if err := decoder.Decode(request); err != nil {
		return err
	}
	sync, ok := request.Data[protocol.MIMECommValue].(protocol.CommValue)
	if !ok {
		return os.ErrInvalid
	}
	return encoder.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: sync.Value})
}
