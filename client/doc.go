// Package client is the library for programs that use an AHP host: dial,
// subscribe, dispatch, and go on as if the network never failed.
//
// # A first program
//
//	c, err := client.Dial(ctx, "ws://127.0.0.1:7433/?tkn=…", client.Options{})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//
//	session, err := c.CreateSession(ctx, client.CreateSessionOptions{})
//	if err != nil {
//		return err
//	}
//	chat, err := session.DefaultChat(ctx)
//	if err != nil {
//		return err
//	}
//	turn, err := chat.Send(ctx, "git status") // shows in chat.State() at once
//	if err != nil {
//		return err // a *RejectedError, for instance
//	}
//	done, err := turn.Wait(ctx)
//
// # States
//
// A subscribed channel has a state of one of the state types of package ahp:
// ahp.RootState, ahp.SessionState, ahp.ChatState and so on. [Chat], [Session]
// and [Root] are channels with their type known and with methods for what one
// does there; any other channel is a [Channel].
//
// State is optimistic: what the host has confirmed, and this client's own
// actions on top. An own action shows at once; it counts as unconfirmed until the
// host has echoed it, disappears when the host rejects it, and is put on top anew
// of whatever else happens meanwhile. [Channel.Dispatch] sends any action of
// package ahp and returns a [Dispatch], which tells how it ended:
//
//	nil                 the host has applied it
//	*RejectedError      the host has refused it, with a reason
//	ErrUnknownOutcome   it was sent, and the connection was lost before the answer
//	ErrNotSent          it was never sent and never will be
//
// States are immutable: keep a pointer, and it stays what it is. [Channel.Updates]
// yields a snapshot and then every change, in order, none twice and none left
// out; [Channel.Wait] waits for a condition. Who only draws the newest state can
// use either.
//
// # Connections
//
// A client is one logical client over as many connections as it takes. When one
// is lost, the client dials again, with pauses that grow, and resumes: the host
// replays what was missed, or sends fresh states when that is too much or when it
// was restarted. Channels, ranges over updates and waiters just go on.
// [Client.Status] and [Client.Statuses] tell the truth about it.
//
// What was under way when the connection was lost:
//
//   - A request fails at once with a [LostError], which tells whether it was sent.
//     It is never sent later. A request made while there is no connection fails
//     as well; [Client.Ready] waits for the next one.
//   - An action that was sent ends as the replay shows: confirmed if it is in
//     there, otherwise with ErrUnknownOutcome. It is never sent again by itself.
//   - An action that was not sent, because there was no connection, stays visible
//     and goes out with the next one.
//   - A [Turn] that is waited for settles when it has ended, however the client
//     learns of that.
//
// The client gives up, once and for all, when the host says that trying again is
// of no use: HTTP 401 or 403, no common protocol version, a client id that belongs
// to somebody else. Everything then fails with [ErrGivenUp].
//
// # Sessions
//
// [Client.ListSessions] lists once, [Client.Sessions] keeps a list current.
//
// # Services
//
// Clients of one host can offer services to each other. [Client.Register] offers
// one, made of functions with [Methods]; [Client.Services] is the catalogue, kept
// current; [Service.Call] and [Service.Notify] use one:
//
//	var m client.Methods
//	client.OnCall(&m, "add", func(ctx context.Context, from client.Sender, in []int) (int, error) {
//		return in[0] + in[1], nil
//	})
//	mine, err := c.Register(ctx, map[string]any{"protocol": "adder"}, &m)
//
//	sum, err := client.CallService[int](ctx, other.Service(id), "add", []int{1, 2})
//
// A service belongs to a connection: after a reconnect it is registered again and
// has a new id. Errors of calls are a [*CallError], which tells whether the service
// may have acted.
//
// # Where it stands
//
// The client is the road of a byte from the other end: socket, transport,
// jsonrpc, and package reconcile in the place of the host's sequencer. Its
// invariants:
//
//   - One lock guards everything and is held for no I/O, callback or decoding.
//   - The number of an action, its place in the state and its place in the queue
//     are taken in one step, so that numbers ascend on the wire.
//   - What was handed to the transport counts as sent; what was not is certain
//     never to have left.
//   - Replayed envelopes take the road of live ones, before any live one.
//   - The answer to a request reaches its caller after everything the host sent
//     before it was applied.
//   - Queues are bounded: see Options.MaxPending and SubscribeOptions.Buffer.
//   - Close waits for every goroutine.
//
// It does not start hosts or keep anything on disk.
package client
