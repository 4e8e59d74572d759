package notify

import "time"

// Limits bound the engine. Zero values mean the defaults, which are those of
// the design (notifications, 5, 7.1 and 10.1).
type Limits struct {
	ActiveCalls     int           // a principal's, with configuration: 100
	PendingItems    int           // a principal's: 1,000
	Endpoints       int           // a principal's, distinct, used within a day: 20
	Verifications   int           // a principal's, new, within an hour: 10
	Installations   int           // a principal's: 100
	InFlight        int           // attempts at one time: 64
	Queued          int           // items held in memory: 10,000; more stay in the store
	QueuedPerTarget int           // 1,000
	CallTimeout     time.Duration // of a call that names none: 24 h
	InstallTTL      time.Duration // 24 h
	MaxInstallTTL   time.Duration // 30 days
	PayloadBytes    int           // of a body: 256 KiB
	ResultBytes     int           // of a result that is kept: 4 MiB
	KeepCalls       time.Duration // after their end, with result and delivered items: 7 days
	KeepDead        time.Duration // 30 days
	DeadItems       int           // a principal's: 10,000, the oldest are evicted
	DeadBytes       int64         // a principal's: 256 MiB
	AttemptTimeout  time.Duration // 15 s
	StreamingFor    time.Duration // how long a streaming item is tried: 30 s
	StreamingTries  int           // 3
	FailoverAfter   time.Duration // 60 s
	DisableAfter    time.Duration // of nothing but failures: 5 days
	Target          TargetLimits
	// PerTarget raises or lowers the limits of one target; nil: none differs.
	PerTarget func(target string) TargetLimits
}

// TargetLimits bound what one target (scheme, host, port) is asked to take.
type TargetLimits struct {
	Rate     float64 // items a second: 10
	Burst    int     // 20
	InFlight int     // 4
}

func (l Limits) withDefaults() Limits {
	def(&l.ActiveCalls, 100)
	def(&l.PendingItems, 1000)
	def(&l.Endpoints, 20)
	def(&l.Verifications, 10)
	def(&l.Installations, 100)
	def(&l.InFlight, 64)
	def(&l.Queued, 10_000)
	def(&l.QueuedPerTarget, 1000)
	def(&l.CallTimeout, 24*time.Hour)
	def(&l.InstallTTL, 24*time.Hour)
	def(&l.MaxInstallTTL, 30*24*time.Hour)
	def(&l.PayloadBytes, 256<<10)
	def(&l.ResultBytes, 4<<20)
	def(&l.KeepCalls, 7*24*time.Hour)
	def(&l.KeepDead, 30*24*time.Hour)
	def(&l.DeadItems, 10_000)
	def(&l.DeadBytes, 256<<20)
	def(&l.AttemptTimeout, 15*time.Second)
	def(&l.StreamingFor, 30*time.Second)
	def(&l.StreamingTries, 3)
	def(&l.FailoverAfter, time.Minute)
	def(&l.DisableAfter, 5*24*time.Hour)
	l.Target = l.Target.withDefaults(TargetLimits{Rate: 10, Burst: 20, InFlight: 4})
	return l
}

func (t TargetLimits) withDefaults(d TargetLimits) TargetLimits {
	def(&t.Rate, d.Rate)
	def(&t.Burst, d.Burst)
	def(&t.InFlight, d.InFlight)
	return t
}

func def[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

func (l *Limits) target(name string) TargetLimits {
	if l.PerTarget == nil {
		return l.Target
	}
	return l.PerTarget(name).withDefaults(l.Target)
}
