package envs

// Unwrap is the task whose episodes start from one state; see [FixedStart].
func (f fixedStart) Unwrap() Env { return f.Env }

// Unwrap is the task that restarts by itself; see [AutoReset].
func (e Episodes) Unwrap() Env { return e.env }

// Inner is the task behind an environment that only changes how episodes begin and end, such as one
// made with [FixedStart]: what has an Unwrap method that returns another one. It is the environment
// itself where there is nothing behind it.
func Inner(env Env) Env {
	for {
		wrapper, ok := env.(interface{ Unwrap() Env })
		if !ok {
			return env
		}
		env = wrapper.Unwrap()
	}
}
