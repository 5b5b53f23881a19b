// Package nb holds what notebook cells need around calls of the other packages: it ends a cell on
// an error, stops calls when the cell is interrupted, and displays drawings.
//
//	run := nb.Must(qdnb.Train(nb.Interruptible(), spec))
//	nb.Draw(figures.Repertoire(run))
package nb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"example.com/qdnb/internal/cell"
)

// Must returns value. On an error it prints one readable line to standard error and exits with
// status 1, since a panic would print a stack trace below the cell.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check ends the program with one readable line if err is not nil; see [Must]. In a notebook, a location
// in a cell starts another line.
func Check(err error) {
	if err != nil {
		text := cell.Lines(fmt.Sprintf("qdnb: %v\n", err))
		fmt.Fprint(os.Stderr, strings.TrimPrefix(text, "qdnb: \n")) // a location on a line of its own
		os.Exit(1)
	}
}

// Drawing is a figure, a table or a page with films.
type Drawing interface {
	// Show displays the drawing below the cell, or saves it under a name outside a notebook.
	Show(name string) error
}

var drawn int

// Draw shows the drawing that a function returned, or ends the cell with its error as [Check] does.
// If the error has a method Absent that returns true, as for a figure whose runs do not exist,
// Draw prints it, and the cell succeeds. Outside a notebook it saves the drawings as
// drawing-1, drawing-2 and so on.
func Draw(d Drawing, err error) {
	var absence interface{ Absent() bool }
	if errors.As(err, &absence) && absence.Absent() {
		fmt.Println("Nothing to draw:", err)
		return
	}
	Check(err)
	if v := reflect.ValueOf(d); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		Check(errors.New("nothing to draw: the drawing is nil; check the error of the call that returned it"))
	}
	drawn++
	Check(d.Show(fmt.Sprintf("drawing-%d", drawn)))
}

// Interruptible returns a context that is cancelled by SIGINT, which Jupyter sends to interrupt a
// cell, or by SIGTERM, and prints a line. Functions that compute runs then save a checkpoint and
// return, once XLA has computed the generation or compiled, which nothing interrupts. A second signal ends the
// process at once. All calls return the same context.
func Interruptible() context.Context { return interruptible() }

var interruptible = sync.OnceValue(func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // the second signal finds no handler
		if term.IsTerminal(int(os.Stderr.Fd())) {
			fmt.Fprintln(os.Stderr) // leaves the line of a progress bar
		}
		fmt.Fprintln(os.Stderr, "qdnb: stopping when the running generation or compilation is finished; interrupt again "+
			"to end at once")
		cancel()
	}()
	return ctx
})
