package replay

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// Column is a named part of a row, Width numbers wide.
type Column struct {
	Name  string
	Width int
}

// Names of the columns that become fields of a [Batch].
const (
	Obs        = "obs"
	NextObs    = "next_obs"
	Action     = "action"
	Reward     = "reward"
	Done       = "done"
	Truncation = "truncation"
)

// Layout lists the columns of a row in order. Names are unique.
type Layout []Column

// Transitions returns the layout of an environment step with the given numbers of observations and
// actions, followed by a learner's additional columns:
//
//	obs, next_obs, action, reward, done, truncation, more...
func Transitions(obs, actions int, more ...Column) Layout {
	return append(Layout{{Obs, obs}, {NextObs, obs}, {Action, actions}, {Reward, 1}, {Done, 1},
		{Truncation, 1}}, more...)
}

// Width is the number of float32 values in a row.
func (l Layout) Width() int {
	width := 0
	for _, column := range l {
		width += column.Width
	}
	return width
}

// lanes is the number of columns that a TPU stores together.
const lanes = 128

// StoredWidth is the number of float32 values that a row takes in a [Buffer]. On TPUs it is the
// width rounded up to whole lanes. With another width XLA would hand the buffer from program to
// program column by column, which takes less memory, and each program would copy all of it to read
// or write rows.
func (l Layout) StoredWidth(kind xla.Kind) int { return storedWidth(kind, l.Width()) }

func storedWidth(kind xla.Kind, width int) int {
	if kind != xla.TPU {
		return width
	}
	return (width + lanes - 1) / lanes * lanes
}

// Batch is a batch of n transitions: a pytree. Fields without a column in the layout are nil.
type Batch struct {
	Obs, NextObs *Node // [n, observations]
	Action       *Node // [n, actions]
	Reward       *Node // [n]
	Done         *Node // [n], 1 where the episode ended with this step, also by truncation
	Truncation   *Node // [n], 1 where it ended only because of its length
	// More holds the other columns in layout order, [n, width].
	More []*Node
}

// Split splits rows [n, width] into their columns. The columns that a
// [Buffer] adds to a row may follow.
func (l Layout) Split(rows *Node) Batch {
	if rows.Rank() != 2 || rows.Shape().Dimensions[1] != l.Width() &&
		rows.Shape().Dimensions[1] != l.StoredWidth(xla.KindOf(rows.Graph())) {
		panic(errors.Errorf("rows of shape %s do not fit a layout of %d columns with %d numbers in total",
			rows.Shape(), len(l), l.Width()))
	}
	var batch Batch
	start := 0
	for _, column := range l {
		part := Slice(rows, AxisRange(), AxisRange(start, start+column.Width))
		start += column.Width
		if field, scalar := batch.field(column.Name); field == nil {
			batch.More = append(batch.More, part)
		} else if scalar {
			*field = Reshape(part, rows.Shape().Dimensions[0])
		} else {
			*field = part
		}
	}
	return batch
}

// Join joins the columns of a batch, [n, width]: the inverse of [Layout.Split].
func (l Layout) Join(batch Batch) *Node {
	parts := make([]*Node, len(l))
	more := batch.More
	for i, column := range l {
		field, scalar := batch.field(column.Name)
		switch {
		case field != nil && scalar && *field != nil:
			parts[i] = InsertAxes(*field, -1)
		case field != nil:
			parts[i] = *field
		case len(more) > 0:
			parts[i], more = more[0], more[1:]
		}
		if parts[i] == nil || parts[i].Rank() != 2 || parts[i].Shape().Dimensions[1] != column.Width {
			panic(errors.Errorf("cannot join a batch: column %q needs %d numbers per row", column.Name,
				column.Width))
		}
	}
	if len(more) > 0 {
		panic(errors.Errorf("cannot join a batch: it has %d columns that are not in the layout",
			len(more)))
	}
	return Concatenate(parts, 1)
}

// field returns the field for a column name and whether it is one number per row; nil means that
// the column goes to More.
func (b *Batch) field(name string) (field **Node, scalar bool) {
	switch name {
	case Obs:
		return &b.Obs, false
	case NextObs:
		return &b.NextObs, false
	case Action:
		return &b.Action, false
	case Reward:
		return &b.Reward, true
	case Done:
		return &b.Done, true
	case Truncation:
		return &b.Truncation, true
	}
	return nil, false
}
