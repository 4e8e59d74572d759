package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/toolnotify"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// notifyOf lets the webhook of --notify hear how the tool calls of the chat end, before
// the message that causes them is sent. It works after this program has ended.
func notifyOf(cmd *cobra.Command, c *client.Client, chat *client.Chat) error {
	hook, err := cmd.Flags().GetString("notify")
	if err != nil || hook == "" {
		return err
	}
	u, err := url.Parse(hook)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usagef("--notify %q is not an http or https URL", hook)
	}
	result, err := configure(cmd.Context(), c, chat.URI(), hook)
	if err != nil {
		return err
	}
	if len(result.AcceptedRoutes) == 0 {
		return fmt.Errorf("the host does not accept %s", shownURL(u))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s is told when a tool call of this chat completes, fails, is cancelled or times out; "+
		"'causeway notify list' shows what became of it\n", shownURL(u))
	return nil
}

// shownURL leaves out what may be secret in a webhook's URL.
func shownURL(u *url.URL) string {
	text := u.Scheme + "://" + u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		text += "?…"
	}
	return printable(text)
}

// configure asks the host to tell a webhook. The user's own choice counts as allowed
// where he is the host's own user; elsewhere the host's rules decide.
func configure(ctx context.Context, c *client.Client, chat ahp.URI, hook string) (*toolnotify.ConfigureResult, error) {
	config, err := json.Marshal(map[string]any{"routes": []any{map[string]any{
		"id": "run", "type": "webhook", "endpoint": hook,
		"triggers": []notify.Trigger{notify.Completed, notify.Failed, notify.TimedOut, notify.Cancelled},
	}}})
	if err != nil {
		return nil, err
	}
	params := toolnotify.ConfigureParams{Channel: chat, Config: jsontext.Value(config), Trusted: true}
	var result toolnotify.ConfigureResult
	err = c.Call(ctx, toolnotify.MethodConfigure, params, &result)
	if errors.Is(err, ahp.ErrPermissionDenied) {
		params.Trusted = false
		err = c.Call(ctx, toolnotify.MethodConfigure, params, &result)
	}
	switch {
	case errors.Is(err, jsonrpc.ErrMethodNotFound):
		return nil, errors.New("the host does not serve --notify; run a newer one")
	case err != nil:
		return nil, fmt.Errorf("--notify: %w", err)
	}
	return &result, nil
}
