package service_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/causeway-ahp/causeway/internal/limit/limittest"
	"github.com/causeway-ahp/causeway/transport"
)

// drive takes a limit to its bound and over it: what the peer sees is the drive's to
// check, the counter is checked for it.
type drive struct {
	limits service.Limits
	run    func(d *driven)
}

type driven struct {
	*world
	*limittest.Counter
}

// TestEveryLimitIsDrivenToItsBound has a drive for each row of the table. Within its
// bound the counter stands still, over it it rises.
func TestEveryLimitIsDrivenToItsBound(t *testing.T) {
	l := service.DefaultLimits
	limittest.Every(t, l.Rows(), drives, func(t *testing.T, row limit.Row, plan drive) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, service.Options{Limits: plan.limits}, host.Options{})
			d := &driven{w, limittest.Follow(t, w.h.Metrics(), row)}
			plan.run(d)
			synctest.Wait()
			d.Over()
		})
	})
}

// within says that so far the bound was kept.
func (d *driven) within() {
	d.t.Helper()
	synctest.Wait()
	d.Within()
}

// hears checks what came last since the last look.
func (p *peer) hears(want string) {
	p.w.t.Helper()
	if got := p.take(); len(got) == 0 || !strings.Contains(got[len(got)-1], want) {
		p.w.t.Errorf("got %.300q, want %s", got, want)
	}
}

func (p *peer) tryRegister(metadata string) {
	p.w.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":%s}}`, metadata))
}

// pair is an owner with a service and a client that uses it.
func (d *driven) pair() (owner, caller *peer, id string) {
	d.t.Helper()
	owner, caller = d.join("b"), d.join("a")
	return owner, caller, owner.register(`{}`)
}

func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels) + `{}` + strings.Repeat(`}`, levels)
}

const invalidParams = `"code":-32602`

var drives = map[string]drive{
	"services-per-connection": {service.Limits{ServicesPerConn: 1}, func(d *driven) {
		owner, _, _ := d.pair()
		d.within()
		owner.tryRegister(`{}`)
		owner.hears(`"code":-31012`)
	}},
	"services": {service.Limits{Services: 1}, func(d *driven) {
		_, other, _ := d.pair()
		d.within()
		other.tryRegister(`{}`)
		other.hears(`"code":-31012`)
	}},
	"service-metadata-bytes": {service.Limits{MetadataBytes: 10}, func(d *driven) {
		p := d.join("a")
		p.register(`{"a":1234}`)
		d.within()
		p.tryRegister(`{"a":12345}`)
		p.hears(invalidParams)
	}},
	"service-method-bytes": {service.Limits{MethodBytes: 1}, func(d *driven) {
		owner, caller, id := d.pair()
		caller.send(notifyMessage(id, `{}`))
		owner.hears(`"method":"m"`)
		d.within()
		caller.send(strings.Replace(notifyMessage(id, `{}`), `"method":"m"`, `"method":"mm"`, 1))
		if got := owner.take(); len(got) != 0 {
			d.t.Errorf("it was carried: %q", got)
		}
		caller.send(strings.Replace(callMessage("9", id, `{}`, ""), `"method":"m"`, `"method":"mm"`, 1))
		caller.hears(invalidParams)
	}},
	"service-params-bytes": {service.Limits{ParamsBytes: 10}, paramsDrive(`"12345678"`, `"123456789"`)},
	"service-depth":        {service.Limits{Depth: 5}, paramsDrive(nested(4), nested(5))},
	"service-result-bytes": {service.Limits{ResultBytes: 10}, answerDrive(`"result":"12345678"`, `"result":"123456789"`)},
	"service-error-message-bytes": {service.Limits{ErrorMessageBytes: 3}, answerDrive(
		`"error":{"code":5,"message":"abc"}`, `"error":{"code":5,"message":"abcd"}`)},
	"service-error-data-bytes": {service.Limits{ErrorDataBytes: 3}, answerDrive(
		`"error":{"code":5,"message":"","data":123}`, `"error":{"code":5,"message":"","data":1234}`)},
	"service-calls-per-connection": {service.Limits{CallsPerConn: 1}, callsDrive},
	"service-calls-per-service":    {service.Limits{CallsPerService: 1}, callsDrive},
	"service-timeout": {service.Limits{Timeout: 10 * time.Second}, func(d *driven) {
		_, caller, id := d.pair()
		caller.send(callMessage("9", id, `{}`, ""))
		time.Sleep(9 * time.Second)
		d.within()
		time.Sleep(2 * time.Second)
		caller.hears(`"code":-31011`)
	}},
	"service-timeout-max": {service.Limits{MaxTimeout: 20 * time.Second}, func(d *driven) {
		_, caller, id := d.pair()
		caller.send(callMessage("8", id, `{}`, `,"timeoutMs":20000`))
		d.within()
		caller.send(callMessage("9", id, `{}`, `,"timeoutMs":20001`))
		time.Sleep(20*time.Second - 1)
		if got := caller.take(); len(got) != 0 {
			d.t.Errorf("too early: %q", got)
		}
		time.Sleep(time.Second)
		if got := caller.take(); len(got) != 2 || !strings.Contains(got[1], `"code":-31011`) {
			d.t.Errorf("got %q", got)
		}
	}},
	"service-rate": {service.Limits{Rate: 2}, func(d *driven) {
		owner, caller, id := d.pair()
		caller.send(notifyMessage(id, `1`), notifyMessage(id, `2`))
		d.within()
		caller.send(notifyMessage(id, `3`), callMessage("9", id, `{}`, ""))
		caller.hears(`"code":-31012`)
		if got := owner.take(); len(got) != 2 {
			d.t.Errorf("got %q, want the first two", got)
		}
	}},
	"service-flood-patience": {service.Limits{Rate: 2, FloodPatience: 5 * time.Second}, func(d *driven) {
		_, caller, id := d.pair()
		for i := range 60 {
			if i == 45 {
				d.within()
			}
			_ = caller.conn.Write([][]byte{[]byte(notifyMessage(id, `1`))}) // in the end it is closed
			time.Sleep(100 * time.Millisecond)
		}
		var end *transport.CloseError
		if err := caller.ended(); !errors.As(err, &end) || end.Code != transport.CodePolicy || end.Reason != string(host.CloseFlood) {
			d.t.Errorf("the connection ended with %v", err)
		}
	}},
}

// paramsDrive sends what is within a bound and what is not.
func paramsDrive(within, over string) func(d *driven) {
	return func(d *driven) {
		owner, caller, id := d.pair()
		caller.send(notifyMessage(id, within))
		owner.hears(within)
		d.within()
		caller.send(notifyMessage(id, over))
		if got := owner.take(); len(got) != 0 {
			d.t.Errorf("it was carried: %q", got)
		}
		caller.send(callMessage("9", id, over, ""))
		caller.hears(invalidParams)
	}
}

// answerDrive answers with what is within a bound and with what is not.
func answerDrive(within, over string) func(d *driven) {
	return func(d *driven) {
		owner, caller, id := d.pair()
		answer := func(body string) {
			caller.send(callMessage("9", id, `{}`, ""))
			got := owner.take()
			if len(got) != 1 {
				d.t.Fatalf("the service got %q", got)
			}
			owner.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, member(got[0], "id"), body))
		}
		answer(within)
		caller.hears(within)
		d.within()
		answer(over)
		caller.hears(`"code":-31013`)
	}
}

func callsDrive(d *driven) {
	owner, caller, id := d.pair()
	caller.send(callMessage("8", id, `{}`, ""))
	owner.hears("clientService/handleRequest")
	d.within()
	caller.send(callMessage("9", id, `{}`, ""))
	caller.hears(`"code":-31012`)
	if got := owner.take(); len(got) != 0 {
		d.t.Errorf("it was carried: %q", got)
	}
}
