package main

import "syscall"

// ownGroup starts a process in a group of its own that gets a signal if this process dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
