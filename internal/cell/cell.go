// Package cell displays output below a notebook cell, or says where a program outside a notebook
// saves its files.
package cell

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"k8s.io/klog/v2"
)

// In a cell, the standard logger breaks lines as [Lines] does, and klog, which GoMLX uses, leaves out
// its headers, which name locations.
func init() {
	if In() {
		log.SetOutput(logged{})
		options := flag.NewFlagSet("klog", flag.ContinueOnError)
		klog.InitFlags(options)
		_ = options.Set("skip_headers", "true") // the flag exists
	}
}

type logged struct{}

func (logged) Write(text []byte) (int, error) {
	_, err := os.Stderr.WriteString(Lines(string(text)))
	return len(text), err
}

// In reports whether the program runs in a notebook cell.
func In() bool { return gonbui.IsNotebook }

// Rerun tells how to resume what was interrupted.
func Rerun() string {
	if In() {
		return "run the cell again to resume"
	}
	return "rerun the same command to resume"
}

// Send displays data in several formats, from which the notebook chooses. It waits until the data
// has arrived, because the cell's program may end next.
func Send(formats map[protocol.MIMEType]any) error {
	return send(&protocol.DisplayData{Data: formats})
}

// Deflated returns data deflated and in base64, as a page's DecompressionStream("deflate-raw") reads it.
func Deflated(data []byte) string {
	var out bytes.Buffer // to which writing does not fail
	w, _ := flate.NewWriter(&out, flate.BestCompression)
	_, _ = w.Write(data)
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// SendPNG displays a PNG file at a size in CSS pixels. Jupyter reads the size from metadata under
// the format's name, which gonbui.DisplayPng does not send.
func SendPNG(data []byte, width, height int) error {
	return send(&protocol.DisplayData{
		Data:     map[protocol.MIMEType]any{protocol.MIMEImagePNG: data},
		Metadata: map[string]any{string(protocol.MIMEImagePNG): map[string]int{"width": width, "height": height}},
	})
}

// inCell matches a location in the program of a cell as GoNB does.
var inCell = regexp.MustCompile(`\S*main(?:_test)?\.go:\d`)

// Lines starts a new line before each location in a cell's program, such as "/tmp/gonb_1/main.go:12". GoNB
// 0.11.5, which finds the cell and its line, dies of lines of standard error with two colons before the
// number.
func Lines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		from := 0
		for _, at := range inCell.FindAllStringIndex(line, -1) {
			if strings.Contains(line[from:at[0]], ":") {
				out.WriteString(line[from:at[0]] + "\n")
				from = at[0]
			}
		}
		out.WriteString(line[from:])
	}
	return out.String()
}

// trained is the run whose map the figure of its training shows, and how to draw that without the map.
var trained struct {
	run     string
	dropMap func()
}

// MapShown says that a figure below the cell shows the map of a run, and how to draw it without.
func MapShown(run string, dropMap func()) { trained.run, trained.dropMap = run, dropMap }

// MapFollows says that the map of a run is displayed next: it is not shown twice.
func MapFollows(run string) {
	if trained.dropMap != nil && trained.run == run {
		trained.dropMap()
		trained.dropMap = nil
	}
}

// newest is the output that Live began last, and what it shows; read guards it.
var newest protocol.DisplayData

// Live begins an output, for Replace, about a run in training. Of the runs that a cell trains only the newest shows its
// output, below the line of its progress: the one before becomes empty.
func Live() (id string) {
	Begin()
	read.Lock()
	before := newest
	id = "qdnb_live_" + gonbui.UniqueId()
	newest = protocol.DisplayData{DisplayID: id}
	read.Unlock()
	if before.Metadata != nil {
		before.Data = map[protocol.MIMEType]any{protocol.MIMETextHTML: ""}
		_ = display(&before) // else it stays
	}
	return id
}

// Replace displays a page of HTML about a run in training in place of the last one with this id.
func Replace(id, page string) error {
	data := &protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextHTML: page}, DisplayID: id,
		Metadata: map[string]any{TrainedKey: "true"}}
	err := send(data)
	read.Lock()
	defer read.Unlock()
	if id == newest.DisplayID {
		newest = *data
	}
	return err
}

func send(data *protocol.DisplayData) error {
	record(data)
	return display(data)
}

func display(data *protocol.DisplayData) error {
	gonbui.SendData(data)
	gonbui.Sync()
	if err := gonbui.Error(); err != nil {
		return fmt.Errorf("send to the notebook: %w", err)
	}
	return nil
}

// FolderVariable is the environment variable that names the folder in which programs outside a
// notebook save files.
const FolderVariable = "QDNB_FIGURES"

// Save saves a file in the folder of FolderVariable (default: the current folder), which it creates
// if missing, and prints the path on standard error. what describes the file in messages. A name
// without one of the endings gets the first.
func Save(what, name string, save func(path string) error, endings ...string) error {
	if name == "" {
		return fmt.Errorf("a %s needs a name to be saved under", what)
	}
	if !slices.Contains(endings, strings.ToLower(filepath.Ext(name))) {
		name += endings[0]
	}
	path := filepath.Join(os.Getenv(FolderVariable), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot create the folder for each %s (see $%s): %w", what, FolderVariable, err)
	}
	if err := save(path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(os.Stderr, "%s saved: %s\n", what, path)
	return err
}
