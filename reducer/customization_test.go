package reducer

const (
	plugin    = `{"type":"plugin","id":"p","uri":"u","name":"P","enablement":[{"kind":"global","enabled":true}],"children":[{"type":"skill","id":"s","uri":"u","name":"S"},{"type":"mcpServer","id":"m","uri":"u","name":"M","state":{"kind":"ready"},"channel":"mcp://x"}]}`
	directory = `{"type":"directory","id":"d","uri":"u","name":"D","enabled":true,"contents":"skill","writable":false,"children":[{"type":"skill","id":"s","uri":"u","name":"S"}]}`
	server    = `{"type":"mcpServer","id":"v","uri":"u","name":"V","state":{"kind":"starting","blocking":true},"channel":"mcp://v"}`
	future    = `{"type":"future","id":"f","children":7,"enabled":"maybe"}`
)

const allCustomizations = `{"customizations":[` + plugin + `,` + directory + `,` + server + `,` + future + `]}`

// The same with one entry written out anew.
func withPlugin(s string) string {
	return `{"customizations":[` + s + `,` + directory + `,` + server + `,` + future + `]}`
}

func withServer(s string) string {
	return `{"customizations":[` + plugin + `,` + directory + `,` + s + `,` + future + `]}`
}

var customizationRows = []row{
	{name: "customizations are replaced", given: allCustomizations, action: `{"type":"session/customizationsChanged","customizations":[]}`, want: `{"customizations":[]}`},
	{name: "one is added to no list", action: `{"type":"session/customizationUpdated","customization":` + server + `}`, want: `{"customizations":[` + server + `]}`},
	{
		name:   "one is replaced whole, in place",
		given:  allCustomizations,
		action: `{"type":"session/customizationUpdated","customization":{"type":"plugin","id":"p","uri":"u","name":"New"}}`,
		want:   withPlugin(`{"type":"plugin","id":"p","uri":"u","name":"New"}`),
	},
	{
		name:   "an enablement list replaces that of a plugin",
		given:  `{"customizations":[{"type":"plugin","id":"p","uri":"u","name":"P","enablement":[{"kind":"global","enabled":true}]}]}`,
		action: `{"type":"session/customizationToggled","id":"p","enablement":[{"kind":"session","enabled":false},{"kind":"workspace","uri":"w","enabled":true}]}`,
		want:   `{"customizations":[{"type":"plugin","id":"p","uri":"u","name":"P","enablement":[{"kind":"session","enabled":false},{"kind":"workspace","uri":"w","enabled":true}]}]}`,
	},
	{
		name:   "an empty list removes that of a server",
		given:  `{"customizations":[{"type":"mcpServer","id":"p","uri":"u","name":"P","enablement":[{"kind":"global","enabled":true}]}]}`,
		action: `{"type":"session/customizationToggled","id":"p","enablement":[]}`,
		want:   `{"customizations":[{"type":"mcpServer","id":"p","uri":"u","name":"P"}]}`,
	},
	{
		name:   "a directory takes the first entry",
		given:  `{"customizations":[` + directory + `]}`,
		action: `{"type":"session/customizationToggled","id":"d","enablement":[{"kind":"session","enabled":false},{"kind":"global","enabled":true}]}`,
		want:   `{"customizations":[{"type":"directory","id":"d","uri":"u","name":"D","enabled":false,"contents":"skill","writable":false,"children":[{"type":"skill","id":"s","uri":"u","name":"S"}]}]}`,
	},
	{
		name:   "a skill is on by default",
		given:  `{"customizations":[{"type":"skill","id":"s","uri":"u","name":"S","enabled":false}]}`,
		action: `{"type":"session/customizationToggled","id":"s","enablement":[]}`,
		want:   `{"customizations":[{"type":"skill","id":"s","uri":"u","name":"S","enabled":true}]}`,
	},
	{
		name:   "the older form",
		given:  `{"customizations":[{"type":"mcpServer","id":"v","uri":"u","name":"V","enabled":true}]}`,
		action: `{"type":"session/customizationToggled","id":"v","enabled":false}`,
		want:   `{"customizations":[{"type":"mcpServer","id":"v","uri":"u","name":"V","enabled":false}]}`,
	},
	{
		name:   "an unknown type is toggled in its own object",
		given:  `{"customizations":[` + future + `]}`,
		action: `{"type":"session/customizationToggled","id":"f","enablement":[{"kind":"session","enabled":false}]}`,
		want:   `{"customizations":[{"type":"future","id":"f","children":7,"enabled":false}]}`,
	},
	{
		name:   "an unknown type is on by default",
		given:  `{"customizations":[` + future + `]}`,
		action: `{"type":"session/customizationToggled","id":"f","enablement":[]}`,
		want:   `{"customizations":[{"type":"future","id":"f","children":7,"enabled":true}]}`,
	},
	{name: "a toggle that says nothing", given: allCustomizations, action: `{"type":"session/customizationToggled","id":"p"}`},
	{name: "an unknown id is toggled", given: allCustomizations, action: `{"type":"session/customizationToggled","id":"z","enabled":true}`},
	{name: "one is toggled without a list", action: `{"type":"session/customizationToggled","id":"p","enabled":true}`},
	{name: "one is removed", given: `{"customizations":[` + server + `]}`, action: `{"type":"session/customizationRemoved","id":"v"}`, want: `{"customizations":[]}`},
	{name: "an unknown one is removed", given: allCustomizations, action: `{"type":"session/customizationRemoved","id":"z"}`},
	{
		name:   "a server has a new state and loses its channel",
		given:  allCustomizations,
		action: `{"type":"session/mcpServerStateChanged","id":"v","state":{"kind":"error","error":{"errorType":"e","message":"m"}}}`,
		want:   withServer(`{"type":"mcpServer","id":"v","uri":"u","name":"V","state":{"kind":"error","error":{"errorType":"e","message":"m"}}}`),
	},
	{
		name:   "a server in a plugin gets a channel",
		given:  `{"customizations":[{"type":"plugin","id":"p","uri":"u","name":"P","children":[{"type":"mcpServer","id":"m","uri":"u","name":"M","state":{"kind":"starting"}}]}]}`,
		action: `{"type":"session/mcpServerStateChanged","id":"m","state":{"kind":"ready"},"channel":"mcp://m"}`,
		want:   `{"customizations":[{"type":"plugin","id":"p","uri":"u","name":"P","children":[{"type":"mcpServer","id":"m","uri":"u","name":"M","state":{"kind":"ready"},"channel":"mcp://m"}]}]}`,
	},
	{name: "a plugin is no server", given: allCustomizations, action: `{"type":"session/mcpServerStateChanged","id":"p","state":{"kind":"ready"}}`},
	{name: "a child skill is no server", given: allCustomizations, action: `{"type":"session/mcpServerStateChanged","id":"s","state":{"kind":"ready"}}`},
	{name: "start", given: allCustomizations, action: `{"type":"session/mcpServerStartRequested","id":"v"}`, want: withServer(`{"type":"mcpServer","id":"v","uri":"u","name":"V","state":{"kind":"starting"}}`)},
	{name: "start of an unknown server", given: allCustomizations, action: `{"type":"session/mcpServerStartRequested","id":"z"}`},
	{name: "stop", given: allCustomizations, action: `{"type":"session/mcpServerStopRequested","id":"v"}`, want: withServer(`{"type":"mcpServer","id":"v","uri":"u","name":"V","state":{"kind":"stopped"}}`)},
	{
		name:   "background",
		given:  allCustomizations,
		action: `{"type":"session/mcpServerBackgroundRequested","id":"v"}`,
		want:   withServer(`{"type":"mcpServer","id":"v","uri":"u","name":"V","state":{"kind":"starting","blocking":false},"channel":"mcp://v"}`),
	},
	{name: "background of a server that blocks nobody", given: withServer(`{"type":"mcpServer","id":"v","uri":"u","name":"V","state":{"kind":"starting"}}`), action: `{"type":"session/mcpServerBackgroundRequested","id":"v"}`},
	{name: "background of a server that runs", given: allCustomizations, action: `{"type":"session/mcpServerBackgroundRequested","id":"m"}`},
	{name: "background of a server without a state", given: withServer(`{"type":"mcpServer","id":"v","uri":"u","name":"V"}`), action: `{"type":"session/mcpServerBackgroundRequested","id":"v"}`},
	{name: "background of what only looks like a server", given: withServer(`{"type":"plugin","id":"v","uri":"u","name":"V","state":{"kind":"starting","blocking":true}}`), action: `{"type":"session/mcpServerBackgroundRequested","id":"v"}`},
	{name: "background of a plugin", given: allCustomizations, action: `{"type":"session/mcpServerBackgroundRequested","id":"p"}`},
}
