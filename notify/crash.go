package notify

// crashPoint is called at the named points between which a crash must lose
// nothing. Tests end the process there.
var crashPoint func(name string)

func (e *Engine) crash(name string) {
	if crashPoint != nil {
		crashPoint(name)
	}
}
