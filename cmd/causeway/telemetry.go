package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/telemetry"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// telemetrySignals are what can be watched: where a collector takes it, and in which
// notification it comes.
var telemetrySignals = map[string]struct{ path, method string }{
	"logs":    {"/v1/logs", ahp.MethodExportLogs},
	"traces":  {"/v1/traces", ahp.MethodExportTraces},
	"metrics": {"/v1/metrics", ahp.MethodExportMetrics},
}

func newTelemetry() *cobra.Command {
	cmd := &cobra.Command{
		Use: "telemetry [logs] [traces] [metrics]", Short: "Follow a host's logs, spans and metrics", GroupID: groupClient,
		Long: `Follows what a host says of itself, in the JSON of OpenTelemetry (OTLP): one export
request a line. Without arguments all three. With --export they go to a collector over
HTTP instead. Only the user of the host may watch. It goes on over lost connections
until it is interrupted; what was said meanwhile is not repeated.`,
		Example: `  causeway telemetry logs --level debug | jq -c '.resourceLogs[].scopeLogs[].logRecords[]'
  causeway telemetry --export http://127.0.0.1:4318`,
		Args: args(cobra.OnlyValidArgs), ValidArgs: []string{"logs", "traces", "metrics"}, RunE: runTelemetry,
	}
	addURLFlag(cmd)
	cmd.Flags().String("level", "info", "the lowest level of logs: "+strings.Join(telemetry.Levels, ", "))
	cmd.Flags().String("export", "", "send everything to the OTLP/HTTP collector at this `URL`")
	return cmd
}

func runTelemetry(cmd *cobra.Command, names []string) error {
	ctx := cmd.Context()
	level, _ := cmd.Flags().GetString("level")
	if !slices.Contains(telemetry.Levels, strings.ToLower(level)) {
		return &usageError{fmt.Errorf("--level is one of %s", strings.Join(telemetry.Levels, ", "))}
	}
	export, _ := cmd.Flags().GetString("export")
	if u, err := url.Parse(export); export != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return &usageError{fmt.Errorf("--export takes the URL of a collector, such as http://127.0.0.1:4318")}
	}
	if len(names) == 0 {
		names = []string{"logs", "traces", "metrics"}
	}
	target, err := resolveURL(cmd)
	if err != nil {
		return err
	}
	c, err := connect(ctx, target)
	if err != nil {
		return err
	}
	t := &telemetryTap{c: c, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), export: strings.TrimSuffix(export, "/"), queue: make(chan exportRequest, 256)}
	var telling sync.WaitGroup
	telling.Go(func() { tellStatus(ctx, c, cmd.ErrOrStderr()) })
	err = t.follow(ctx, names, strings.ToLower(level))
	_ = c.Close()
	telling.Wait()
	return err
}

// exportRequest is one of OTLP.
type exportRequest struct {
	signal  string
	payload jsontext.Value
}

// telemetryTap passes export requests on. What does not fit its queue is left out and
// told.
type telemetryTap struct {
	c         *client.Client
	out, errs io.Writer
	export    string
	queue     chan exportRequest
}

func (t *telemetryTap) follow(ctx context.Context, names []string, level string) error {
	channels, err := telemetryChannels(t.c.HostInfo())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	over := make(chan error, len(names))
	for _, name := range names {
		channel := strings.Replace(channels[name], "{level}", level, 1)
		if channel == "" {
			return fmt.Errorf("the host offers no %s", name)
		}
		defer t.c.OnNotification(telemetrySignals[name].method, func(params jsontext.Value) { t.hear(name, channel, params) })()
		ch, err := t.c.Subscribe(ctx, channel, client.SubscribeOptions{})
		if err != nil {
			return fmt.Errorf("follow %s: %w; only the user of the host may", name, err)
		}
		defer ch.Close()
		watching.Go(func() {
			select {
			case <-ch.Done():
				over <- fmt.Errorf("follow %s: %w", name, ch.Err())
			case <-ctx.Done():
			}
		})
	}
	for {
		select {
		case err := <-over:
			return err
		case r := <-t.queue:
			if err := t.pass(ctx, r); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// telemetryChannels are the channels that the host has, by signal.
func telemetryChannels(info *ahp.InitializeResult) (map[string]ahp.URI, error) {
	channels := make(map[string]ahp.URI)
	if info == nil || ahp.Unmarshal(info.Telemetry, &channels) != nil || len(channels) == 0 {
		return nil, fmt.Errorf("the host offers no telemetry")
	}
	return channels, nil
}

// hear runs on the reader.
func (t *telemetryTap) hear(name string, channel ahp.URI, params jsontext.Value) {
	raw, _ := jsonrpc.Member(params, "channel")
	if of, _ := jsonrpc.StringBytes(raw); string(of) != channel {
		return
	}
	payload, ok := jsonrpc.Member(params, "payload")
	if !ok {
		return
	}
	select {
	case t.queue <- exportRequest{name, payload}:
	default:
		fmt.Fprintf(t.errs, "some %s are left out: they come faster than they are taken\n", name)
	}
}

// collectorPatience is how long a collector may take.
const collectorPatience = 10 * time.Second

// pass prints a request or sends it to the collector. What the collector does not take
// is told, and lost.
func (t *telemetryTap) pass(ctx context.Context, r exportRequest) error {
	if t.export == "" {
		_, err := fmt.Fprintf(t.out, "%s\n", r.payload)
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, collectorPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.export+telemetrySignals[r.signal].path, bytes.NewReader(r.payload))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = answer.Body.Close()
		if answer.StatusCode/100 != 2 {
			err = fmt.Errorf("the collector answers %s", answer.Status)
		}
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(t.errs, "%s were not taken: %v\n", r.signal, err)
	}
	return nil
}
