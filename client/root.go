package client

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
)

// Root is the host's root channel: agents, terminals, configuration.
type Root struct{ *Channel }

// Root subscribes to the root channel.
func (c *Client) Root(ctx context.Context) (*Root, error) {
	ch, err := c.Subscribe(ctx, ahp.RootURI, SubscribeOptions{})
	if err != nil {
		return nil, err
	}
	return &Root{ch}, nil
}

// State is the optimistic state; see Channel.State.
func (r *Root) State() *ahp.RootState { return r.Channel.State().(*ahp.RootState) }

// Ping asks the host for a sign of life.
func (c *Client) Ping(ctx context.Context) error {
	return c.Call(ctx, ahp.MethodPing, ahp.ChannelParams{Channel: ahp.RootURI}, nil)
}
