package service

// CallsInFlight is the number of calls without an answer.
func (f *Feature) CallsInFlight() int { return f.callsInFlight() }
