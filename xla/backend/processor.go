package backend

import (
	"cmp"
	"errors"
	"strings"
)

// Processor describes the processor of this machine.
type Processor struct {
	Name string // for readers, such as "Intel(R) Xeon(R) Processor"
	// Features are the model and the instructions, on which machine code depends.
	Features string
}

// errProcessor says that the system does not tell its processor.
var errProcessor = errors.New("the system does not describe its processor")

// linuxProcessor returns the first processor in a text like that of Linux's /proc/cpuinfo, on x86 or ARM.
func linuxProcessor(text string) (p Processor, err error) {
	first, _, _ := strings.Cut(text, "\n\n")
	var found []string
	fields := map[string]string{}
	for line := range strings.Lines(first) {
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.Join(strings.Fields(value), " ")
		switch name {
		case "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
			"CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features":
			found = append(found, value)
			fields[name] = value
		}
	}
	p.Name = fields["model name"]
	if part := fields["CPU part"]; part != "" {
		p.Name = cmp.Or(p.Name, "ARM implementer "+fields["CPU implementer"]+" part "+part)
	}
	if p.Features = strings.Join(found, "|"); len(found) < 6 {
		return p, errProcessor
	}
	return p, nil
}
