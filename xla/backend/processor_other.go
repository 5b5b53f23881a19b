//go:build !darwin

package backend

import "os"

// ThisProcessor returns the processor of this machine, or an error if the system does not describe it.
func ThisProcessor() (Processor, error) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return Processor{}, errProcessor
	}
	return linuxProcessor(string(text))
}
