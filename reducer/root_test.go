package reducer

const rootConfig = `{"config":{"schema":{"type":"object","properties":{}},"values":{"a":1,"b":2}}}`

var rootRows = []row{
	{
		name:   "agents are replaced",
		given:  `{"agents":[{"provider":"old","displayName":"O","description":"","models":[]}]}`,
		action: `{"type":"root/agentsChanged","agents":[{"provider":"new","displayName":"N","description":"","models":[]}]}`,
		want:   `{"agents":[{"provider":"new","displayName":"N","description":"","models":[]}]}`,
	},
	{name: "sessions are counted", action: `{"type":"root/activeSessionsChanged","activeSessions":0}`, want: `{"activeSessions":0}`},
	{
		name:   "terminals are replaced",
		given:  `{"terminals":[{"resource":"ahp-terminal:/1","title":"a","claim":{"kind":"client"}}]}`,
		action: `{"type":"root/terminalsChanged","terminals":[]}`,
		want:   `{"terminals":[]}`,
	},
	{name: "a missing list of terminals is empty", action: `{"type":"root/terminalsChanged"}`, want: `{"terminals":[]}`},
	{
		name:   "config is merged",
		given:  rootConfig,
		action: `{"type":"root/configChanged","config":{"b":{"deep":true},"c":3}}`,
		want:   `{"config":{"values":{"b":{"deep":true},"c":3}}}`,
	},
	{
		name:   "config is merged with replace false",
		given:  rootConfig,
		action: `{"type":"root/configChanged","config":{"c":3},"replace":false}`,
		want:   `{"config":{"values":{"c":3}}}`,
	},
	{
		name:   "config is replaced",
		given:  rootConfig,
		action: `{"type":"root/configChanged","config":{"c":3},"replace":true}`,
		want:   `{"config":{"values":{"a":null,"b":null,"c":3}}}`,
	},
	{
		name:   "config without values takes the new ones",
		given:  `{"config":{"schema":{}}}`,
		action: `{"type":"root/configChanged","config":{"c":3}}`,
		want:   `{"config":{"values":{"c":3}}}`,
	},
	{name: "config without config", action: `{"type":"root/configChanged","config":{"c":3},"replace":true}`},
}

var watchRows = []row{{
	name:   "a watch never changes",
	action: `{"type":"resourceWatch/changed","changes":{"items":[{"uri":"file:///r/a","type":"added"}]}}`,
}}
