// Command sockets measures the WebSocket connections of this repository beside the
// libraries gorilla/websocket and coder/websocket, in one run and in turns:
//
//	cd bench && go run ./sockets [-quick] [-json]
//
// Each server is a process of its own. It sends messages as its library's users
// do: ours in the batches in which a host writes what has piled up, the others one
// at a time. The reader is the same for all. An idle connection is one whose
// server waits for a message, in heap and stacks after a collection.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/causeway-ahp/causeway/internal/measure"
)

func main() {
	role := flag.String("role", "", "which server this process is for another one")
	quick := flag.Bool("quick", false, "measure little")
	asJSON := flag.Bool("json", false, "print each figure as a JSON object")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *role != "" {
		err = serve(ctx, *role, os.Stdin, os.Stdout)
	} else {
		err = run(ctx, *quick, *asJSON)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sockets:", err)
		os.Exit(1)
	}
}

// names of the servers; ours is the first.
var names = []string{"causeway", "gorilla/websocket", "coder/websocket"}

func run(ctx context.Context, quick, asJSON bool) error {
	rounds, messages, conns := 5, 500_000, 2000
	if quick {
		rounds, messages, conns = 3, 50_000, 300
	}
	r := measure.NewReport("")
	r.Section("WebSocket connections")
	servers := make([]*measure.Subject, len(names))
	for i, name := range names {
		var err error
		if servers[i], err = measure.StartSubject(ctx, "-role", name); err != nil {
			return err
		}
		defer func() { _ = servers[i].Stop() }()
	}
	for _, m := range []struct {
		figure measure.Figure
		rounds int
		take   func(context.Context, *measure.Subject) (float64, error)
	}{
		{measure.Figure{Name: "messages of 200 B sent", Unit: "/s", Goal: ">= 1.3 x"}, rounds, func(ctx context.Context, s *measure.Subject) (float64, error) { return stream(ctx, s, messages) }},
		{measure.Figure{Name: "idle connection", Unit: "KB", Goal: "<= 1.0 x"}, 1, func(ctx context.Context, s *measure.Subject) (float64, error) { return idle(ctx, s, conns) }},
	} {
		fmt.Fprintln(os.Stderr, "measuring", m.figure.Name)
		all := make([]measure.Rounds, len(servers))
		for range m.rounds {
			for i, s := range servers {
				v, err := m.take(ctx, s)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", names[i], m.figure.Name, err)
				}
				all[i] = append(all[i], v)
			}
		}
		for i, peer := range names[1:] {
			r.Add(m.figure.Over(all[0]).Beside(peer, all[i+1], ""))
		}
	}
	if asJSON {
		return r.WriteJSON(os.Stdout)
	}
	return r.WriteTable(os.Stdout)
}
