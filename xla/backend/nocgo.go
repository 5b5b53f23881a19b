//go:build !cgo

package backend

import _ "example.com/qdnb/xla/backend/cgo_is_off_install_a_C_compiler"
