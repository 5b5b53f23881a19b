package envs

// Unwrap returns the task whose episodes start from one state; see [StartAt].
func (f fixedStart) Unwrap() Env { return f.Env }

// Unwrap returns the task that resets automatically; see [AutoReset].
func (e Episodes) Unwrap() Env { return e.env }

// Inner returns the task inside of wrappers that only change how episodes begin and end, such as
// [FixedStart]. A wrapper has a method Unwrap() Env. An environment without one is returned as is.
func Inner(env Env) Env {
	for {
		wrapper, ok := env.(interface{ Unwrap() Env })
		if !ok {
			return env
		}
		env = wrapper.Unwrap()
	}
}
