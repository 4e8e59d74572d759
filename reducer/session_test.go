package reducer

const (
	clientA     = `{"clientId":"a","displayName":"A","tools":[{"name":"t"}]}`
	clientB     = `{"clientId":"b","tools":[]}`
	inputChat   = `{"id":"i","chat":"ahp-chat:/c","kind":"chatInput","request":{"id":"r"}}`
	inputClient = `{"id":"x","chat":"ahp-chat:/c","kind":"toolClientExecution","turnId":"t","clientId":"a","toolCall":{"status":"running","toolCallId":"x","toolName":"n","displayName":"N"}}`
)

var sessionRows = []row{
	{name: "ready", given: `{"status":24}`, action: `{"type":"session/ready"}`, want: `{"lifecycle":"ready"}`},
	{
		name:   "creation failed",
		action: `{"type":"session/creationFailed","error":{"errorType":"e","message":"m"}}`,
		want:   `{"lifecycle":"failed","creationError":{"errorType":"e","message":"m"}}`,
	},
	{name: "title", action: `{"type":"session/titleChanged","title":""}`, want: `{"title":""}`},
	{name: "read", given: `{"status":72}`, action: `{"type":"session/isReadChanged","isRead":true}`, want: `{"status":104}`},
	{name: "unread", given: `{"status":104}`, action: `{"type":"session/isReadChanged","isRead":false}`, want: `{"status":72}`},
	{name: "read already", given: `{"status":33}`, action: `{"type":"session/isReadChanged","isRead":true}`},
	{name: "archived", action: `{"type":"session/isArchivedChanged","isArchived":true}`, want: `{"status":65}`},
	{name: "not archived", given: `{"status":97}`, action: `{"type":"session/isArchivedChanged","isArchived":false}`, want: `{"status":33}`},
	{name: "activity", action: `{"type":"session/activityChanged","activity":""}`, want: `{"activity":""}`},
	{name: "no activity", given: `{"activity":"a"}`, action: `{"type":"session/activityChanged"}`, want: `{"activity":null}`},
	{
		name:   "changesets",
		action: `{"type":"session/changesetsChanged","changesets":[{"label":"L","uriTemplate":"u","changeKind":"future"}]}`,
		want:   `{"changesets":[{"label":"L","uriTemplate":"u","changeKind":"future"}]}`,
	},
	{name: "empty changesets", action: `{"type":"session/changesetsChanged","changesets":[]}`, want: `{"changesets":[]}`},
	{name: "no changesets", given: `{"changesets":[]}`, action: `{"type":"session/changesetsChanged"}`, want: `{"changesets":null}`},
	{name: "tools", given: `{"serverTools":[{"name":"a"}]}`, action: `{"type":"session/serverToolsChanged","tools":[{"name":"b"}]}`, want: `{"serverTools":[{"name":"b"}]}`},
	{name: "a client joins", given: `{"activeClients":[` + clientA + `]}`, action: `{"type":"session/activeClientSet","activeClient":` + clientB + `}`, want: `{"activeClients":[` + clientA + `,` + clientB + `]}`},
	{
		name:   "a client is replaced whole, in place",
		given:  `{"activeClients":[` + clientA + `,` + clientB + `]}`,
		action: `{"type":"session/activeClientSet","activeClient":{"clientId":"a","tools":[]}}`,
		want:   `{"activeClients":[{"clientId":"a","tools":[]},` + clientB + `]}`,
	},
	{name: "a client leaves", given: `{"activeClients":[` + clientA + `]}`, action: `{"type":"session/activeClientRemoved","clientId":"a"}`, want: `{"activeClients":[]}`},
	{name: "an unknown client leaves", given: `{"activeClients":[` + clientA + `]}`, action: `{"type":"session/activeClientRemoved","clientId":"z"}`},
	{name: "input needed", given: `{"status":97}`, action: `{"type":"session/inputNeededSet","request":` + inputChat + `}`, want: `{"status":120,"inputNeeded":[` + inputChat + `]}`},
	{
		name:   "input replaced in place",
		given:  `{"status":24,"inputNeeded":[` + inputChat + `,` + inputClient + `]}`,
		action: `{"type":"session/inputNeededSet","request":{"id":"i","chat":"ahp-chat:/d","kind":"chatInput"}}`,
		want:   `{"inputNeeded":[{"id":"i","chat":"ahp-chat:/d","kind":"chatInput"},` + inputClient + `]}`,
	},
	{name: "a client's execution is no question", given: `{"status":40}`, action: `{"type":"session/inputNeededSet","request":` + inputClient + `}`, want: `{"inputNeeded":[` + inputClient + `]}`},
	{
		name:   "a question of an unknown kind is one",
		action: `{"type":"session/inputNeededSet","request":{"id":"f","chat":"ahp-chat:/c","kind":"future","x":1}}`,
		want:   `{"status":24,"inputNeeded":[{"id":"f","chat":"ahp-chat:/c","kind":"future","x":1}]}`,
	},
	{
		name:   "the last question goes",
		given:  `{"status":56,"inputNeeded":[` + inputChat + `]}`,
		action: `{"type":"session/inputNeededRemoved","id":"i"}`,
		want:   `{"status":40,"inputNeeded":null}`,
	},
	{
		name:   "a question goes, a client's execution stays",
		given:  `{"status":24,"inputNeeded":[` + inputChat + `,` + inputClient + `]}`,
		action: `{"type":"session/inputNeededRemoved","id":"i"}`,
		want:   `{"status":8,"inputNeeded":[` + inputClient + `]}`,
	},
	{
		name:   "a client's execution goes, a question stays",
		given:  `{"status":8,"inputNeeded":[` + inputChat + `,` + inputClient + `]}`,
		action: `{"type":"session/inputNeededRemoved","id":"x"}`,
		want:   `{"status":24,"inputNeeded":[` + inputChat + `]}`,
	},
	{name: "an unknown question goes", given: `{"inputNeeded":[` + inputChat + `]}`, action: `{"type":"session/inputNeededRemoved","id":"z"}`},
	{name: "a question goes without a list", action: `{"type":"session/inputNeededRemoved","id":"i"}`},
	{name: "default chat", action: `{"type":"session/defaultChatChanged","defaultChat":"ahp-chat:/unlisted"}`, want: `{"defaultChat":"ahp-chat:/unlisted"}`},
	{name: "no default chat", given: `{"defaultChat":"ahp-chat:/c"}`, action: `{"type":"session/defaultChatChanged"}`, want: `{"defaultChat":null}`},
	{name: "config", given: rootConfig, action: `{"type":"session/configChanged","config":{"b":3}}`, want: `{"config":{"values":{"b":3}}}`},
	{name: "config replaced", given: rootConfig, action: `{"type":"session/configChanged","config":{},"replace":true}`, want: `{"config":{"values":{"a":null,"b":null}}}`},
	{name: "config without config", action: `{"type":"session/configChanged","config":{"b":3},"replace":true}`},
	{name: "meta is replaced", given: `{"_meta":{"a":1}}`, action: `{"type":"session/metaChanged","_meta":{"b":2}}`, want: `{"_meta":{"a":null,"b":2}}`},
	{name: "no meta", given: `{"_meta":{"a":1}}`, action: `{"type":"session/metaChanged"}`, want: `{"_meta":null}`},
	{name: "meta null", given: `{"_meta":{"a":1}}`, action: `{"type":"session/metaChanged","_meta":null}`, want: `{"_meta":null}`},
	{name: "a first directory", action: `{"type":"session/workingDirectorySet","directory":"file:///a"}`, want: `{"workingDirectories":["file:///a"]}`},
	{name: "a directory again", given: `{"workingDirectories":["file:///a"]}`, action: `{"type":"session/workingDirectorySet","directory":"file:///a"}`},
	{name: "the last directory goes", given: `{"workingDirectories":["file:///a"]}`, action: `{"type":"session/workingDirectoryRemoved","directory":"file:///a"}`, want: `{"workingDirectories":[]}`},
	{name: "an unknown directory goes", action: `{"type":"session/workingDirectoryRemoved","directory":"file:///a"}`},
	{name: "B becomes C", given: `{"workingDirectories":["A","B","C"]}`, action: `{"type":"session/workingDirectoryReplaced","directory":"B","replacement":"C"}`, want: `{"workingDirectories":["A","C"]}`},
	{name: "C becomes A", given: `{"workingDirectories":["A","B","C"]}`, action: `{"type":"session/workingDirectoryReplaced","directory":"C","replacement":"A"}`, want: `{"workingDirectories":["A","B"]}`},
	{name: "A becomes D", given: `{"workingDirectories":["A","B"]}`, action: `{"type":"session/workingDirectoryReplaced","directory":"A","replacement":"D"}`, want: `{"workingDirectories":["D","B"]}`},
	{name: "A becomes A", given: `{"workingDirectories":["A","B"]}`, action: `{"type":"session/workingDirectoryReplaced","directory":"A","replacement":"A"}`},
	{name: "an unknown directory is not replaced", given: `{"workingDirectories":["A"]}`, action: `{"type":"session/workingDirectoryReplaced","directory":"Z","replacement":"B"}`},
}

const (
	chatA = `{"resource":"a","title":"A","status":1,"modifiedAt":"","unknownMember":{"x":1}}`
	chatB = `{"resource":"b","title":"B","status":1,"modifiedAt":""}`
	chatC = `{"resource":"c","title":"C","status":1,"modifiedAt":""}`
)

const chatsABC = `{"chats":[` + chatA + `,` + chatB + `,` + chatC + `]}`

var sessionChatRows = []row{
	{name: "a chat is added", given: `{"chats":[` + chatA + `]}`, action: `{"type":"session/chatAdded","summary":` + chatB + `}`, want: `{"chats":[` + chatA + `,` + chatB + `]}`},
	{
		name:   "a chat is replaced whole, in place",
		given:  `{"chats":[` + chatA + `,` + chatB + `]}`,
		action: `{"type":"session/chatAdded","summary":{"resource":"a","title":"New","status":8,"modifiedAt":""}}`,
		want:   `{"chats":[{"resource":"a","title":"New","status":8,"modifiedAt":""},` + chatB + `]}`,
	},
	{name: "the default chat is removed", given: `{"defaultChat":"a","chats":[` + chatA + `]}`, action: `{"type":"session/chatRemoved","chat":"a"}`, want: `{"defaultChat":null,"chats":[]}`},
	{name: "another chat is removed", given: `{"defaultChat":"a","chats":[` + chatA + `,` + chatB + `]}`, action: `{"type":"session/chatRemoved","chat":"b"}`, want: `{"chats":[` + chatA + `]}`},
	{name: "an unknown chat is removed", given: `{"defaultChat":"z","chats":[` + chatA + `]}`, action: `{"type":"session/chatRemoved","chat":"z"}`},
	{
		name:   "a chat is updated, unknown members too",
		given:  `{"chats":[` + chatA + `]}`,
		action: `{"type":"session/chatUpdated","chat":"a","changes":{"resource":"evil","title":"","status":2,"activity":"","modifiedAt":"m","origin":{"kind":"user"},"interactivity":"hidden","workingDirectories":[],"changes":{"files":0},"movable":false,"unknownMember":{"y":2},"other":true}}`,
		want:   `{"chats":[{"resource":"a","title":"","status":2,"activity":"","modifiedAt":"m","origin":{"kind":"user"},"interactivity":"hidden","workingDirectories":[],"changes":{"files":0},"movable":false,"unknownMember":{"y":2},"other":true}]}`,
	},
	{
		name:   "a chat gets its first unknown member",
		given:  `{"chats":[` + chatB + `]}`,
		action: `{"type":"session/chatUpdated","chat":"b","changes":{"other":{"x":1}}}`,
		want:   `{"chats":[{"resource":"b","title":"B","status":1,"modifiedAt":"","other":{"x":1}}]}`,
	},
	{name: "an unknown chat is updated", given: `{"chats":[` + chatA + `]}`, action: `{"type":"session/chatUpdated","chat":"z","changes":{"title":"x"}}`},
	{name: "full order", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["c","a","b"]}`, want: `{"chats":[` + chatC + `,` + chatA + `,` + chatB + `]}`},
	{name: "front part", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["c","z","c"]}`, want: `{"chats":[` + chatC + `,` + chatA + `,` + chatB + `]}`},
	{name: "to the start", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["c","b"],"destination":{"kind":"start"}}`, want: `{"chats":[` + chatC + `,` + chatB + `,` + chatA + `]}`},
	{name: "to the end", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["a"],"destination":{"kind":"end"}}`, want: `{"chats":[` + chatB + `,` + chatC + `,` + chatA + `]}`},
	{name: "before", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["c"],"destination":{"kind":"before","anchor":"b"}}`, want: `{"chats":[` + chatA + `,` + chatC + `,` + chatB + `]}`},
	{name: "before the first", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["c"],"destination":{"kind":"before","anchor":"a"}}`, want: `{"chats":[` + chatC + `,` + chatA + `,` + chatB + `]}`},
	{name: "after", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["a"],"destination":{"kind":"after","anchor":"b"}}`, want: `{"chats":[` + chatB + `,` + chatA + `,` + chatC + `]}`},
	{name: "the anchor moves itself", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["a"],"destination":{"kind":"before","anchor":"a"}}`, want: `{"chats":[` + chatB + `,` + chatC + `,` + chatA + `]}`},
	{name: "an unknown anchor", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["a"],"destination":{"kind":"after","anchor":"z"}}`, want: `{"chats":[` + chatB + `,` + chatC + `,` + chatA + `]}`},
	{name: "an unknown place", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["a"],"destination":{"kind":"future","anchor":"b"}}`, want: `{"chats":[` + chatB + `,` + chatC + `,` + chatA + `]}`},
	{name: "no known chat is moved", given: chatsABC, action: `{"type":"session/chatsReordered","chats":["z"],"destination":{"kind":"start"}}`},
}
