// Package protobuftest reads protocol buffer messages in tests.
package protobuftest

import (
	"fmt"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"example.com/qdnb/internal/protobuf"
)

// Fields returns the fields of a message: numbers as text, and the contents of the others.
func Fields[M ~string | ~[]byte](t testing.TB, text M) map[protobuf.Field][]string {
	t.Helper()
	found := map[protobuf.Field][]string{}
	for message := []byte(text); len(message) > 0; {
		number, kind, n := protowire.ConsumeField(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		_, _, tag := protowire.ConsumeTag(message)
		value := message[tag:n]
		var text string
		switch kind {
		case protowire.VarintType:
			x, _ := protowire.ConsumeVarint(value)
			text = fmt.Sprint(x)
		case protowire.Fixed32Type:
			x, _ := protowire.ConsumeFixed32(value)
			text = fmt.Sprint(math.Float32frombits(x))
		case protowire.Fixed64Type:
			x, _ := protowire.ConsumeFixed64(value)
			text = fmt.Sprint(math.Float64frombits(x))
		default:
			x, _ := protowire.ConsumeBytes(value)
			text = string(x)
		}
		found[number], message = append(found[number], text), message[n:]
	}
	return found
}
