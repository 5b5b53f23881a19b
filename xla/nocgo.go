//go:build !cgo

package xla

import _ "example.com/qdnb/xla/cgo_is_off_install_a_C_compiler"
