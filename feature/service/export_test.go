package service

// CallsInFlight is the number of calls without an answer.
func (f *Feature) CallsInFlight() int { return f.callsInFlight() }

// Tables is how much the feature remembers.
type Tables struct{ Services, Enrolled, Parties, Calls int }

// Tables returns what it remembers now.
func (f *Feature) Tables() Tables {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Tables{Services: len(f.services.roll().order), Enrolled: f.enrolled, Parties: len(f.parties), Calls: f.inFlight}
}
