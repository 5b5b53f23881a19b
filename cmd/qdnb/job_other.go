//go:build !linux

package main

import "syscall"

// ownGroup starts a process in a group of its own. If this process dies, it finishes the plan alone.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
