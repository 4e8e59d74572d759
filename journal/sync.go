package journal

import "time"

// Trouble is a failure of the store that has not been cured yet.
type Trouble struct {
	Err   error
	Since time.Time // of the first failure in a row
}

// Trouble returns what is wrong with the store, nil while it takes what it is
// given.
func (j *Journal) Trouble() *Trouble { return j.trouble.Load() }

// failed notes that the store refused a group.
func (j *Journal) failed(err error) {
	t := &Trouble{Err: err, Since: time.Now()}
	if old := j.trouble.Load(); old != nil {
		t.Since = old.Since
	}
	j.trouble.Store(t)
	j.report(err)
}

func (j *Journal) report(err error) {
	if j.opts.Failed != nil {
		j.opts.Failed(err)
	}
}

// syncLoop makes what was written survive the loss of power, now and then. It
// does not hold the writer up.
func (j *Journal) syncLoop() {
	tick := time.NewTicker(j.opts.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			j.sync()
		case <-j.closing:
			return
		}
	}
}

func (j *Journal) sync() {
	if !j.unsynced.Swap(false) {
		return
	}
	if err := j.opts.Store.Sync(); err != nil {
		j.unsynced.Store(true)
		j.report(err)
	}
}
