package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/spf13/cobra"
)

// limitHelp is the value of --limit that asks for the list.
const limitHelp = "help"

// limitOptions are the limits of a host and what around it has some. The zero value
// means the defaults.
type limitOptions struct {
	texts []string // NAME=VALUE

	host    host.Limits
	service service.Limits
	tcp     tcp.Limits
	session session.Limits
	socket  websocket.Options
}

func (o *limitOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.texts, "limit", nil, "change a limit, as `name=value`; repeatable; --limit help lists them")
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, r := range new(limitOptions).defaults().rows() {
			if r.Fixed {
				continue
			}
			names = append(names, fmt.Sprintf("%s=\t%s; %s", r.Name, r.Bounds, r.String()))
		}
		return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc("limit", complete); err != nil {
		panic(err) // the flag was added above
	}
}

// defaults gives every limit its default.
func (o *limitOptions) defaults() *limitOptions {
	o.host, o.service, o.tcp, o.socket = host.DefaultLimits, service.DefaultLimits, tcp.DefaultLimits, endpoint.DefaultLimits
	o.session = session.DefaultLimits
	return o
}

// rows is the table of all limits, over the fields of o.
func (o *limitOptions) rows() []limit.Row {
	return slices.Concat(endpoint.Rows(&o.socket), o.host.Rows(), o.session.Rows(), o.service.Rows(), o.tcp.Rows())
}

// check reads what the command line says.
func (o *limitOptions) check() error {
	rows := o.defaults().rows()
	for _, text := range o.texts {
		name, value, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(rows, func(r limit.Row) bool { return r.Name == name })
		switch {
		case !ok:
			return usagef("--limit %q is not of the form name=value; --limit help lists the names", text)
		case i < 0:
			return usagef("--limit: there is no limit %q; there are %s", name, names(rows))
		}
		if err := rows[i].Set(value); err != nil {
			return usagef("--limit: %w", err)
		}
	}
	return nil
}

func names(rows []limit.Row) string {
	list := make([]string, len(rows))
	for i, r := range rows {
		list[i] = r.Name
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// asked reports whether the list is wanted.
func (o *limitOptions) asked() bool { return slices.Contains(o.texts, limitHelp) }

// list prints every limit with its default.
func (o *limitOptions) list(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range o.defaults().rows() {
		if _, err := fmt.Fprintf(tw, "%s\t%s\t%s: %s\n", r.Name, r.String(), r.Bounds, strings.ReplaceAll(r.Policy, "`", "")); err != nil {
			return err
		}
	}
	return tw.Flush()
}
