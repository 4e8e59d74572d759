package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
)

// An embedded host and its client in one process. A program that talks to a host
// elsewhere begins with client.Dial instead.
func Example() {
	ctx := context.Background()
	feature := session.New(session.Options{Providers: []agent.Provider{newPuppet()}})
	h, err := host.New(ctx, host.Options{Features: []host.Feature{feature}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Shutdown(ctx)
	dial := func(context.Context) (transport.Conn, error) {
		near, far := memory.Pair(memory.Options{})
		go h.Serve(ctx, far, host.Local)
		return near, nil
	}

	c := client.New(ctx, dial, client.Options{})
	defer c.Close()
	if err := c.Ready(ctx); err != nil {
		log.Fatal(err)
	}
	session, err := c.CreateSession(ctx, client.CreateSessionOptions{})
	if err != nil {
		log.Fatal(err)
	}
	chat, err := session.DefaultChat(ctx)
	if err != nil {
		log.Fatal(err)
	}
	turn, err := chat.Send(ctx, "git status")
	if err != nil {
		log.Fatal(err)
	}
	done, err := turn.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.State, markdown(done.ResponseParts))
	// Output: complete ok: git status
}

func ExampleDial() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, "ws://127.0.0.1:7433/?tkn=secret", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for s, err := range c.ListSessions(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Resource, s.Title)
	}
}

func ExampleClient_Statuses() {
	var c *client.Client // from client.Dial
	for s := range c.Statuses(context.Background()) {
		fmt.Println(s.State, "since", s.Since.Format(time.TimeOnly), "because", s.Err)
	}
}

func ExampleChannel_Dispatch() {
	var s *client.Session // from Client.Session
	d := s.Dispatch(&ahp.SessionTitleChanged{Title: "a better title"})
	var rejected *client.RejectedError
	switch err := d.Wait(context.Background()); {
	case err == nil:
		fmt.Println("renamed for everybody")
	case errors.As(err, &rejected):
		fmt.Println("refused:", rejected.Reason)
	case errors.Is(err, client.ErrUnknownOutcome):
		fmt.Println("the connection was lost; the title is now", s.State().Title)
	}
}

func ExampleChannel_Updates() {
	var chat *client.Chat // from Client.Chat
	for u, err := range chat.Updates(context.Background()) {
		if errors.Is(err, client.ErrSlowReader) {
			continue // a snapshot comes next
		}
		if err != nil {
			return // the chat is gone, or the client was closed
		}
		fmt.Println(u.Kind, u.Unconfirmed, u.State.(*ahp.ChatState).Title)
	}
}

func ExampleChat_Confirm() {
	var chat *client.Chat // from Client.Chat
	for _, call := range chat.WaitingCalls() {
		if _, err := chat.Confirm(call.ToolCallID, call.ToolName == "read", client.ConfirmOptions{}); err != nil {
			log.Print(err) // somebody else was faster
		}
	}
}

func ExampleClient_Sessions() {
	var c *client.Client // from client.Dial
	list, err := c.Sessions(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer list.Close()
	for sessions, err := range list.Updates(context.Background()) {
		if err != nil {
			return
		}
		fmt.Println(len(sessions), "sessions, current:", list.Fresh())
	}
}
