package backend

import (
	"cmp"
	"syscall"
)

// ThisProcessor returns the processor of this machine, or an error if the system does not describe it.
//
// macOS describes Apple's processors by name alone. Its version belongs to the features, because it
// decides which of the processor's instructions programs may use.
func ThisProcessor() (Processor, error) {
	name, err := syscall.Sysctl("machdep.cpu.brand_string")
	system, err2 := syscall.Sysctl("kern.osversion")
	if err = cmp.Or(err, err2); err != nil || name == "" {
		return Processor{Name: name}, cmp.Or(err, errProcessor)
	}
	return Processor{Name: name, Features: name + "|" + system}, nil
}
