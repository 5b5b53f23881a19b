// Package protobuf writes protocol buffer messages without generated code.
package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field is the number of a field.
type Field = protowire.Number

// Message is an encoded message. Its methods append a field with a number and return the longer
// message.
type Message []byte

// Int appends an integer.
func (m Message) Int(field Field, x int64) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(x))
}

// Text appends a string.
func (m Message) Text(field Field, x string) Message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), x)
}

// Bytes appends bytes or a message.
func (m Message) Bytes(field Field, x []byte) Message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), x)
}

// Float appends a float.
func (m Message) Float(field Field, x float32) Message {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), math.Float32bits(x))
}

// Double appends a double.
func (m Message) Double(field Field, x float64) Message {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), math.Float64bits(x))
}
