package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
)

// drives are made anew for each run, since stores and features are of one host.
var drives = map[string]func() drive{
	limitDepth: func() drive {
		return drive{Options{}, func(d *driven) { // the envelope and its params are two levels
			d.complexDrive(strings.Repeat("[", jsonrpc.MaxDepth-2)+strings.Repeat("]", jsonrpc.MaxDepth-2), strings.Repeat("[", jsonrpc.MaxDepth-1)+strings.Repeat("]", jsonrpc.MaxDepth-1))
		}}
	},
	limitValues: func() drive {
		return drive{Options{}, func(d *driven) { // beside the list: the envelope, its members, the params and their members
			list := func(n int) string { return "[1" + strings.Repeat(",1", n-1) + "]" }
			d.complexDrive(list(jsonrpc.MaxValues-7), list(jsonrpc.MaxValues-6))
		}}
	},
	limitHandshake: func() drive {
		return drive{Options{Limits: Limits{HandshakeTimeout: 10 * time.Second}}, func(d *driven) {
			p := d.peer("a")
			time.Sleep(9 * time.Second)
			d.within()
			time.Sleep(2 * time.Second)
			p.closed(transport.CodePolicy, CloseHandshake)
		}}
	},
	limitGrace: func() drive {
		return drive{Options{Limits: Limits{ReconnectGrace: time.Minute}}, func(d *driven) {
			d.joined("a", driveSession).close()
			time.Sleep(59 * time.Second)
			p := d.returns("a")
			p.hears(`"type":"replay"`)
			p.close()
			d.within()
			time.Sleep(61 * time.Second)
			d.returns("a").hears(`"code":-32008`)
		}}
	},
	limitRemembered: func() drive {
		return drive{Options{Limits: Limits{RememberedClients: 1}}, func(d *driven) {
			d.joined("a", driveSession).close()
			d.within()
			time.Sleep(time.Second) // so that one of them is the longest lost
			d.joined("b", driveSession).close()
			synctest.Wait() // the host has noticed
			d.returns("a").hears(`"code":-32008`)
			d.returns("b").hears(`"type":"replay"`)
		}}
	},
	limitOutboxCount: func() drive {
		return drive{Options{Limits: Limits{OutboxMessages: 50}}, func(d *driven) {
			d.joined("b", driveSession)
			slow := d.mute("a", driveSession)
			d.apply(300, "fits the carrier") // whose queue has room for 256
			d.within()
			d.apply(51, "does not")
			checkClosed(d.t, slow, transport.CodeTryAgain, CloseOverflow)
		}}
	},
	limitOutboxBytes: func() drive {
		return drive{Options{Limits: Limits{OutboxBytes: 2 << 20}}, func(d *driven) {
			d.joined("b", driveSession)
			slow := d.mute("a", driveSession)
			text := strings.Repeat("x", 256<<10)
			d.apply(8, text)
			d.within()
			d.apply(10, text)
			checkClosed(d.t, slow, transport.CodeTryAgain, CloseOverflow)
		}}
	},
	limitRelayCount:    func() drive { return drive{Options{Limits: Limits{RelayMessages: 2}}, relayDrive("x", 2)} },
	limitRelayBytes:    func() drive { return drive{Options{Limits: Limits{RelayBytes: 20}}, relayDrive("xxxxxxxxxx", 2)} },
	limitRelayPatience: func() drive { return drive{Options{Limits: Limits{RelayMessages: 2}}, patienceDrive} },
	limitSubscriptions: func() drive {
		return drive{Options{Limits: Limits{SubscriptionsPerConn: 1}}, func(d *driven) {
			p := d.joined("a", driveSession)
			d.within()
			p.ask(2, "subscribe", rootParams)
			p.hears(`"error":{"code":-32602,"message":"at most 1 subscriptions"}`)
		}}
	},
	limitInFlight: func() drive {
		return drive{Options{Limits: Limits{RequestsInFlight: 1}}, func(d *driven) {
			p := d.joined("a")
			p.ask(2, "x-sleep", rootParams)
			p.silent()
			d.within()
			p.ask(3, "x-sleep", rootParams)
			p.ask(4, "ping", rootParams)
			p.silent()
			time.Sleep(61 * time.Minute)
			p.hears(`"id":4,"result":null`)
		}}
	},
	limitFlush: func() drive {
		return drive{Options{Limits: Limits{ShutdownFlush: 7 * time.Second}}, func(d *driven) {
			d.joined("b", driveSession)
			slow := d.mute("a", driveSession)
			d.apply(400, "more than the carrier holds")
			d.within()
			began := time.Now()
			if err := d.h.Shutdown(context.Background()); err != nil {
				d.t.Error(err)
			}
			if took := time.Since(began); took != 7*time.Second {
				d.t.Errorf("it took %v", took)
			}
			checkClosed(d.t, slow, transport.CodeGoingAway, CloseShutdown)
		}}
	},
	limitEffects: func() drive {
		return drive{Options{Limits: Limits{EffectsPerChannel: 1}}, func(d *driven) {
			p := d.joined("a", driveChat)
			if err := d.Do("slow", nil, ""); err != nil {
				d.t.Fatal(err)
			}
			p.start(1, "t1")
			p.take()
			p.start(3, "t2")
			p.take()
			d.within()
			p.start(5, "t3")
			if got := strings.Join(p.take(), "\n"); !strings.Contains(got, "busy: too many actions wait") {
				d.t.Errorf("got %s", got)
			}
			if err := d.Do("fast", nil, ""); err != nil {
				d.t.Fatal(err)
			}
		}}
	},
	limitEncodings: func() drive {
		return drive{Options{Limits: Limits{SnapshotEncodings: 1}}, func(d *driven) {
			p := d.joined("a", driveSession)
			d.within()
			d.apply(1, "new")
			p.take()
			d.h.encodings <- struct{}{} // another snapshot, as large as one likes
			p.ask(2, "subscribe", fmt.Sprintf(`{"channel":%q}`, driveSession))
			p.silent()
			<-d.h.encodings
			p.hears(`"id":2,"result":{"snapshot"`)
		}}
	},
	"replay-bytes": func() drive { return drive{Options{Limits: Limits{ReplayBytes: 1000}}, replayDrive(3, 200)} },
	"ring-records": func() drive { return drive{Options{Limits: Limits{RingRecords: 10}}, replayDrive(3, 30)} },
	"ring-bytes":   func() drive { return drive{Options{Limits: Limits{RingBytes: 4000}}, replayDrive(2, 100)} },
	limitBacklog: func() drive {
		return drive{Options{Store: newGate(), Limits: Limits{JournalBacklogBytes: 1}}, func(d *driven) {
			p := d.joined("a", driveSession)
			d.within()
			d.store.hold(nil)
			p.title(1, "one")
			p.title(2, "two")
			p.ask(2, "ping", rootParams)
			p.silent()
			d.store.release()
			p.hears(`"id":2,"result":null`)
		}}
	},
	limitObservers: func() drive {
		watch := &watcher{pause: time.Minute}
		return drive{Options{Features: []Feature{watch}, Limits: Limits{ObserverBacklog: 1}}, func(d *driven) {
			p := d.joined("a", driveSession)
			p.title(1, "one")
			p.take()
			d.within()
			p.title(2, "two")
			p.title(3, "three")
			p.ask(2, "ping", rootParams)
			if got := strings.Join(p.take(), "\n"); strings.Contains(got, `"id":2`) {
				d.t.Errorf("the reader did not wait: %s", got)
			}
			time.Sleep(5 * time.Minute)
			p.hears(`"id":2,"result":null`)
		}}
	},
	limitStall: func() drive {
		return drive{Options{Store: newGate(), Limits: Limits{StoreStall: 20 * time.Second}}, func(d *driven) {
			p := d.joined("a", driveSession)
			d.store.hold(errors.New("disk full"))
			p.title(1, "waits")
			time.Sleep(19 * time.Second)
			d.within()
			time.Sleep(3 * time.Second)
			p.closed(transport.CodeTryAgain, CloseStore)
		}}
	},
	"idle-time": func() drive {
		return drive{Options{Store: newMortal(), Limits: Limits{IdleTime: time.Minute}}, func(d *driven) {
			p := d.joined("a", driveSession)
			time.Sleep(10 * time.Minute)
			d.within()
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":%q}}`, driveSession))
			time.Sleep(10 * time.Minute)
			if err := d.Do("idle", []string{driveSession}, ""); err != nil {
				d.t.Error(err)
			}
			p.ask(2, "subscribe", fmt.Sprintf(`{"channel":%q}`, driveSession))
			p.hears(`"title":"x"`)
		}}
	},
	limitSessions: func() drive {
		return drive{Options{Limits: Limits{Sessions: 2}}, func(d *driven) {
			p := d.joined("a", driveSession)
			p.ask(2, "createSession", `{"channel":"ahp-session:/2"}`)
			p.hears(`"id":2,"result":null`)
			d.within()
			p.ask(3, "createSession", `{"channel":"ahp-session:/3"}`)
			p.hears(`"code":-32603,"message":"the host holds 2 sessions, its limit`)
		}}
	},
	limitChats: func() drive {
		return drive{Options{Limits: Limits{ChatsPerSession: 1}}, func(d *driven) {
			d.joined("a", driveChat)
			d.within()
			if err := d.h.Create("ahp-chat:/2", labChat("ahp-chat:/2"), driveSession); err == nil || !strings.Contains(err.Error(), "holds 1 chats, its limit") {
				d.t.Errorf("a second chat: %v", err)
			}
		}}
	},
	limitPage: func() drive {
		return drive{Options{Limits: Limits{PageSize: 2}}, func(d *driven) {
			p := d.joined("a", driveSession, "ahp-session:/2")
			p.ask(2, "listSessions", rootParams)
			if got := p.take(); strings.Contains(fmt.Sprint(got), "nextCursor") {
				d.t.Errorf("a whole list has a cursor: %s", got)
			}
			d.within()
			d.joined("b", "ahp-session:/3")
			p.take()
			p.ask(3, "listSessions", `{"channel":"ahp-root://","limit":100}`)
			if got := strings.Join(p.take(), ""); strings.Count(got, `"resource"`) != 2 || !strings.Contains(got, "nextCursor") {
				d.t.Errorf("got %s", got)
			}
		}}
	},
	limitTurns: func() drive {
		return drive{Options{Limits: Limits{TurnsPage: 2}}, func(d *driven) {
			p := d.joined("a", driveChat)
			for i := range 3 {
				if i == 2 {
					p.take()
					p.ask(2, "fetchTurns", fmt.Sprintf(`{"channel":%q}`, driveChat))
					p.take()
					d.within()
				}
				d.turn(driveChat, fmt.Sprint("t", i))
			}
			p.take()
			p.ask(3, "fetchTurns", fmt.Sprintf(`{"channel":%q}`, driveChat))
			if got := strings.Join(p.take(), ""); !strings.Contains(got, "turnsNextCursor") || strings.Contains(got, `"id":"t0"`) {
				d.t.Errorf("got %s", got)
			}
		}}
	},
	limitWindow:        unreleasedDrive,
	limitFrame:         func() drive { return windowDrive(1, dataOf(1100)) },
	limitJoin:          func() drive { return windowDrive(2, frameOf(400)) },
	limitJoinConn:      joinConnDrive,
	limitWindowText:    windowTextDrive,
	"window-lag-bytes": lagDrive,
}

// relayDrive queues messages of others behind what a client does not read.
func relayDrive(text string, room int) func(d *driven) {
	return func(d *driven) {
		d.joined("b", driveSession).close()
		synctest.Wait()
		d.mute("a", driveSession)
		c := d.conn()
		d.apply(8, strings.Repeat("x", 512<<10)) // more than the carrier holds
		for range room {
			if err := c.Relay([]byte(text)); err != nil {
				d.t.Errorf("within the bound: %v", err)
			}
		}
		d.within()
		if err := c.Relay([]byte(text)); !errors.Is(err, ErrRelayFull) {
			d.t.Errorf("over the bound: %v", err)
		}
	}
}

// patienceDrive keeps the queue of a client full that does not read.
func patienceDrive(d *driven) {
	slow := d.mute("a")
	c := d.conn()
	msg := []byte(`{"jsonrpc":"2.0","method":"x","params":{"text":"` + strings.Repeat("x", 512<<10) + `"}}`)
	for range 12 { // the carrier takes some
		_ = c.Relay(msg)
		synctest.Wait()
	}
	if err := c.Relay(msg); !errors.Is(err, ErrRelayFull) {
		d.t.Fatalf("the queue is not full: %v", err)
	}
	time.Sleep(29 * time.Second)
	d.within()
	time.Sleep(2 * time.Second)
	checkClosed(d.t, slow, transport.CodeTryAgain, CloseOverflow)
}

// replayDrive loses a client for few actions, which are replayed, and then for many.
func replayDrive(few, many int) func(d *driven) {
	return func(d *driven) {
		d.joined("a", driveSession).close()
		d.apply(few, "t")
		p := d.returns("a")
		p.hears(`"type":"replay"`)
		p.close()
		d.within()
		d.apply(many, "t")
		d.returns("a").hears(`"type":"snapshot"`)
	}
}

var narrowLimits = Limits{WindowBytes: 1024, WindowFrameBytes: 1024, WindowLagBytes: 300, ReassemblyBytes: 600}

// windowed subscribes with a window of so many bytes.
func (p *peer) windowed(id int, channel ahp.URI, window int) {
	p.w.t.Helper()
	p.ask(id, "subscribe", fmt.Sprintf(`{"channel":%q,"flowControl":{"receive":{"windowBytes":%d,"maximumFrameBytes":1024}}}`, channel, window))
	p.take()
}

// dataOf is a message of about so many bytes on a windowed subscription; frameOf a
// frame with so many of a longer one.
func dataOf(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"x-unknown","params":{"channel":%q,"x":%q}}`, driveSession, strings.Repeat("x", n))
}

func frameOf(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"channel/frame","params":{"channel":%q,"data":%q}}`, driveSession, strings.Repeat("x", n))
}

// windowDrive sends as many messages as it takes to be over the bound; each but the
// last is within it.
func windowDrive(n int, msg string) drive {
	return drive{Options{Limits: narrowLimits}, func(d *driven) {
		p := d.joined("a", driveSession)
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":%q}}`, driveSession))
		p.windowed(2, driveSession, 4096)
		for range n - 1 {
			p.send(msg)
		}
		d.within()
		p.send(msg)
		p.closed(transport.CodePolicy, CloseFlow)
	}}
}

func joinConnDrive() drive {
	l := narrowLimits
	l.ReassemblyConnBytes = 500
	return drive{Options{Limits: l}, func(d *driven) {
		p := d.joined("a", driveSession, "ahp-session:/2")
		for i, u := range []ahp.URI{driveSession, "ahp-session:/2"} {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":%q}}`, u))
			p.windowed(2+i, u, 4096)
		}
		p.send(frameOf(400))
		d.within()
		p.send(strings.Replace(frameOf(400), driveSession, "ahp-session:/2", 1))
		p.closed(transport.CodePolicy, CloseFlow)
	}}
}

func windowTextDrive() drive {
	return drive{Options{Limits: Limits{WindowTextBytes: 30_000}}, func(d *driven) {
		d.joined("w", driveSession)
		d.apply(1, strings.Repeat("x", 20_000))
		first, second := d.joined("a"), d.joined("b")
		first.windowed(2, driveSession, 1)
		d.within()
		time.Sleep(time.Second)
		second.windowed(2, driveSession, 1)
		first.closed(transport.CodeTryAgain, CloseOverflow)
		second.ask(3, "ping", rootParams)
		second.hears(`"id":3,"result":null`)
	}}
}

func lagDrive() drive {
	return drive{Options{Limits: narrowLimits}, func(d *driven) {
		d.joined("w", driveSession)
		p := d.joined("a")
		p.ask(2, "subscribe", fmt.Sprintf(`{"channel":%q,"flowControl":{"receive":{"windowBytes":1,"maximumFrameBytes":4096}}}`, driveSession))
		p.hears("channel/snapshot")
		d.apply(8, "t") // the window is full
		p.silent()
		d.within()
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":%q,"consumedBytes":%d}}`, driveSession, d.sent()))
		p.hears(`"title":"t7"`)
	}}
}

// sent is how much the host has sent on the windowed subscription of the client a.
func (d *driven) sent() int64 {
	d.t.Helper()
	d.h.mu.Lock()
	conns := d.h.connsLocked()
	d.h.mu.Unlock()
	for _, c := range conns {
		if c.ClientID() == "a" {
			c.out.mu.Lock()
			defer c.out.mu.Unlock()
			return c.subs[driveSession].win.w.window.Sent()
		}
	}
	d.t.Fatal("a is not connected")
	return 0
}

// unreleasedDrive sends to a subscription whose source has not released what fills its
// window.
func unreleasedDrive() drive {
	return drive{Options{Limits: narrowLimits}, func(d *driven) {
		p := d.joined("a", driveSession)
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":%q}}`, driveSession))
		p.windowed(2, driveSession, 4096)
		p.title(1, "x")
		if got := strings.Join(p.take(), ""); !strings.Contains(got, "channel/credit") {
			d.t.Errorf("no credit: %s", got)
		}
		d.within()
		w := d.conn().subs[driveSession].win.w
		w.mu.Lock()
		err := w.credit.Receive(narrowLimits.WindowBytes)
		w.mu.Unlock()
		if err != nil {
			d.t.Fatal(err)
		}
		p.title(2, "y")
		p.closed(transport.CodePolicy, CloseFlow)
	}}
}
