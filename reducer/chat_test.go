package reducer

const work = `{"kind":"shell","id":"w","label":"L","startedAt":"s","command":"ls"}`

var chatRows = []row{
	{name: "activity", action: `{"type":"chat/activityChanged","activity":""}`, want: `{"activity":""}`},
	{name: "no activity", given: `{"activity":"a"}`, action: `{"type":"chat/activityChanged"}`, want: `{"activity":null}`},
	{name: "movable", action: `{"type":"chat/movableChanged","movable":true}`, want: `{"movable":true}`},
	{name: "not movable", given: `{"movable":true}`, action: `{"type":"chat/movableChanged","movable":false}`, want: `{"movable":false}`},
	{name: "read", given: `{"status":72}`, action: `{"type":"chat/isReadChanged","isRead":true}`, want: `{"status":104}`},
	{name: "unread", given: `{"status":104}`, action: `{"type":"chat/isReadChanged","isRead":false}`, want: `{"status":72}`},
	{name: "read already", given: `{"status":33}`, action: `{"type":"chat/isReadChanged","isRead":true}`},
	{name: "archived", action: `{"type":"chat/isArchivedChanged","isArchived":true}`, want: `{"status":65}`},
	{name: "not archived already", action: `{"type":"chat/isArchivedChanged","isArchived":false}`},
	{name: "a first directory", action: `{"type":"chat/workingDirectorySet","directory":"a"}`, want: `{"workingDirectories":["a"]}`},
	{name: "a second directory", given: `{"workingDirectories":["a"]}`, action: `{"type":"chat/workingDirectorySet","directory":"b"}`, want: `{"workingDirectories":["a","b"]}`},
	{name: "a directory again", given: `{"workingDirectories":["a"]}`, action: `{"type":"chat/workingDirectorySet","directory":"a"}`},
	{name: "the last directory goes", given: `{"workingDirectories":["a"]}`, action: `{"type":"chat/workingDirectoryRemoved","directory":"a"}`, want: `{"workingDirectories":[]}`},
	{name: "an unknown directory goes", given: `{"workingDirectories":["a"]}`, action: `{"type":"chat/workingDirectoryRemoved","directory":"b"}`},
	{name: "draft", action: `{"type":"chat/draftChanged","draft":` + message + `}`, want: `{"draft":` + message + `}`},
	{name: "no draft", given: `{"draft":` + message + `}`, action: `{"type":"chat/draftChanged"}`, want: `{"draft":null}`},
	{name: "changesets", action: `{"type":"chat/changesetsChanged","changesets":[]}`, want: `{"changesets":[]}`},
	{name: "no changesets", given: `{"changesets":[]}`, action: `{"type":"chat/changesetsChanged"}`, want: `{"changesets":null}`},
	{name: "canvases", action: `{"type":"chat/canvasesChanged","canvases":[{"resource":"ahp-canvas:/1"}]}`, want: `{"canvases":[{"resource":"ahp-canvas:/1"}]}`},
	{name: "no canvases", given: `{"canvases":[]}`, action: `{"type":"chat/canvasesChanged"}`, want: `{"canvases":null}`},
	{name: "work begins", action: `{"type":"chat/backgroundWorkSet","work":` + work + `}`, want: `{"backgroundWork":[` + work + `]}`},
	{
		name:   "work of an unknown kind is replaced by its id",
		given:  `{"backgroundWork":[{"kind":"future","id":"f","x":1},` + work + `]}`,
		action: `{"type":"chat/backgroundWorkSet","work":{"kind":"future","id":"f","x":2}}`,
		want:   `{"backgroundWork":[{"kind":"future","id":"f","x":2},` + work + `]}`,
	},
	{name: "work ends", given: `{"backgroundWork":[` + work + `]}`, action: `{"type":"chat/backgroundWorkRemoved","id":"w"}`, want: `{"backgroundWork":[]}`},
	{name: "unknown work ends", action: `{"type":"chat/backgroundWorkRemoved","id":"w"}`},
}

var streamRows = []row{
	{name: "delta", given: active(markdown("p", "a")), action: `{"type":"chat/delta","turnId":"t","partId":"p","content":"b"}`, want: active(markdown("p", "ab"))},
	{name: "delta for another turn", given: active(markdown("p", "a")), action: `{"type":"chat/delta","turnId":"z","partId":"p","content":"b"}`},
	{name: "delta for an unknown part", given: active(markdown("p", "a")), action: `{"type":"chat/delta","turnId":"t","partId":"z","content":"b"}`},
	{name: "delta without a turn", action: `{"type":"chat/delta","turnId":"t","partId":"p","content":"b"}`},
	{name: "delta for a part of an unknown kind", given: active(`{"kind":"future","id":"p","content":"a"}`), action: `{"type":"chat/delta","turnId":"t","partId":"p","content":"b"}`},
	{
		name:   "reasoning",
		given:  active(markdown("p", "a"), `{"kind":"reasoning","id":"r","content":"x"}`),
		action: `{"type":"chat/reasoning","turnId":"t","partId":"r","content":"y"}`,
		want:   active(markdown("p", "a"), `{"kind":"reasoning","id":"r","content":"xy"}`),
	},
	{name: "reasoning for markdown", given: active(markdown("p", "a")), action: `{"type":"chat/reasoning","turnId":"t","partId":"p","content":"y"}`},
	{name: "reasoning for an unknown part", given: active(), action: `{"type":"chat/reasoning","turnId":"t","partId":"p","content":"y"}`},
	{name: "a part", given: active(), action: `{"type":"chat/responsePart","turnId":"t","part":` + markdown("p", "") + `}`, want: active(markdown("p", ""))},
	{
		name:   "a part of an unknown kind",
		given:  active(),
		action: `{"type":"chat/responsePart","turnId":"t","part":{"kind":"future","x":{"y":null}}}`,
		want:   active(`{"kind":"future","x":{}}`),
	},
	{name: "an error part comes by chat/error alone", given: active(), action: `{"type":"chat/responsePart","turnId":"t","part":{"kind":"error","error":{"errorType":"e","message":"m"}}}`},
	{name: "no part", given: active(), action: `{"type":"chat/responsePart","turnId":"t"}`},
	{name: "a part for another turn", given: active(), action: `{"type":"chat/responsePart","turnId":"z","part":` + markdown("p", "") + `}`},
	{name: "usage", given: active(), action: `{"type":"chat/usage","turnId":"t","usage":{"inputTokens":0}}`, want: `{"activeTurn":{"usage":{"inputTokens":0}}}`},
	{name: "usage for another turn", given: active(), action: `{"type":"chat/usage","turnId":"z","usage":{"inputTokens":1}}`},
}

const (
	question = `{"id":"r","questions":[{"kind":"text","id":"q","message":"?"}]}`
	draftQ   = `{"state":"draft","value":{"kind":"text","value":"d"}}`
	finalQ   = `{"state":"submitted","value":{"kind":"text","value":"s"}}`
)

// asked is an input request part with more members of the request and the part.
func asked(request, part string) string {
	return `{"kind":"inputRequest","request":{"id":"r"` + request + `}` + part + `}`
}

var inputRows = []row{
	{
		name:   "a question is asked",
		given:  `{"status":104,` + activeTurn(markdown("p", "a")) + `}`,
		action: `{"type":"chat/inputRequested","request":` + question + `}`,
		want:   `{"status":88,` + activeTurn(markdown("p", "a"), `{"kind":"inputRequest","request":`+question+`}`) + `}`,
	},
	{
		name:   "an open question is asked again and keeps its answers",
		given:  waiting(asked(`,"answers":{"q":`+draftQ+`}`, `,"unknownMember":1`), asked(``, ``)),
		action: `{"type":"chat/inputRequested","request":{"id":"r","message":"new"}}`,
		want:   waiting(asked(`,"message":"new","answers":{"q":`+draftQ+`}`, `,"unknownMember":1`), asked(``, ``)),
	},
	{
		name:   "a new question with answers replaces them",
		given:  waiting(asked(`,"answers":{"q":`+draftQ+`}`, ``)),
		action: `{"type":"chat/inputRequested","request":{"id":"r","answers":{"z":` + finalQ + `}}}`,
		want:   waiting(asked(`,"answers":{"z":`+finalQ+`}`, ``)),
	},
	{
		name:   "an answered question is asked anew behind it",
		given:  active(asked(``, `,"response":"accept"`)),
		action: `{"type":"chat/inputRequested","request":{"id":"r"}}`,
		want:   waiting(asked(``, `,"response":"accept"`), asked(``, ``)),
	},
	{name: "a question without a turn", action: `{"type":"chat/inputRequested","request":` + question + `}`},
	{name: "no question", given: active(), action: `{"type":"chat/inputRequested"}`},
	{
		name:   "an answer is drafted",
		given:  waiting(asked(``, ``)),
		action: `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"q","answer":` + draftQ + `}`,
		want:   waiting(asked(`,"answers":{"q":`+draftQ+`}`, ``)),
	},
	{
		name:   "one answer of two is deleted",
		given:  waiting(asked(`,"answers":{"q":`+draftQ+`,"z":`+finalQ+`}`, ``)),
		action: `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"q"}`,
		want:   waiting(asked(`,"answers":{"z":`+finalQ+`}`, ``)),
	},
	{
		name:   "the last answer is deleted",
		given:  waiting(asked(`,"answers":{"q":`+draftQ+`}`, ``)),
		action: `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"q"}`,
		want:   waiting(asked(``, ``)),
	},
	{name: "an answer to a closed question", given: active(asked(``, `,"response":"cancel"`)), action: `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"q","answer":` + draftQ + `}`},
	{name: "an answer without a turn", action: `{"type":"chat/inputAnswerChanged","requestId":"r","questionId":"q","answer":` + draftQ + `}`},
	{
		name:   "a question is answered, the drafts overlaid",
		given:  waiting(asked(`,"answers":{"q":`+draftQ+`,"z":`+draftQ+`}`, ``)),
		action: `{"type":"chat/inputCompleted","requestId":"r","response":"accept","answers":{"q":` + finalQ + `}}`,
		want:   active(asked(`,"answers":{"q":`+finalQ+`,"z":`+draftQ+`}`, `,"response":"accept"`)),
	},
	{
		name:   "a question is declined without answers",
		given:  waiting(asked(``, ``)),
		action: `{"type":"chat/inputCompleted","requestId":"r","response":"decline","answers":{}}`,
		want:   active(asked(``, `,"response":"decline"`)),
	},
	{
		name:   "another question is still open",
		given:  waiting(asked(``, ``), `{"kind":"inputRequest","request":{"id":"other"}}`),
		action: `{"type":"chat/inputCompleted","requestId":"r","response":"cancel"}`,
		want:   waiting(asked(``, `,"response":"cancel"`), `{"kind":"inputRequest","request":{"id":"other"}}`),
	},
	{name: "an unknown question is answered", given: waiting(asked(``, ``)), action: `{"type":"chat/inputCompleted","requestId":"z","response":"accept"}`},
}

// queued is a queue of messages with the ids.
func queued(ids ...string) string {
	list := ""
	for i, id := range ids {
		if i > 0 {
			list += ","
		}
		list += `{"id":"` + id + `","message":` + message + `}`
	}
	return `{"queuedMessages":[` + list + `]}`
}

const steering = `{"steeringMessage":{"id":"s","message":` + message + `}}`

var pendingRows = []row{
	{name: "steering is set", action: `{"type":"chat/pendingMessageSet","kind":"steering","id":"s","message":` + message + `}`, want: steering},
	{
		name:   "steering is replaced",
		given:  steering,
		action: `{"type":"chat/pendingMessageSet","kind":"steering","id":"s2","message":{"text":"new","origin":{"kind":"user"}}}`,
		want:   `{"steeringMessage":{"id":"s2","message":{"text":"new"}}}`,
	},
	{name: "a message is queued", given: queued("a"), action: `{"type":"chat/pendingMessageSet","kind":"queued","id":"b","message":` + message + `}`, want: queued("a", "b")},
	{
		name:   "a queued message is edited in place",
		given:  queued("a", "b"),
		action: `{"type":"chat/pendingMessageSet","kind":"queued","id":"a","message":{"text":"new","origin":{"kind":"user"}}}`,
		want:   `{"queuedMessages":[{"id":"a","message":{"text":"new","origin":{"kind":"user"}}},{"id":"b","message":` + message + `}]}`,
	},
	{name: "steering is removed", given: steering, action: `{"type":"chat/pendingMessageRemoved","kind":"steering","id":"s"}`, want: `{"steeringMessage":null}`},
	{name: "another steering is removed", given: steering, action: `{"type":"chat/pendingMessageRemoved","kind":"steering","id":"z"}`},
	{name: "steering is not in the queue", given: queued("s"), action: `{"type":"chat/pendingMessageRemoved","kind":"steering","id":"s"}`},
	{name: "one of the queue is removed", given: queued("a", "b"), action: `{"type":"chat/pendingMessageRemoved","kind":"queued","id":"a"}`, want: queued("b")},
	{name: "the last of the queue is removed", given: queued("a"), action: `{"type":"chat/pendingMessageRemoved","kind":"queued","id":"a"}`, want: `{"queuedMessages":null}`},
	{name: "an unknown message is removed", given: queued("a"), action: `{"type":"chat/pendingMessageRemoved","kind":"queued","id":"z"}`},
	{name: "the queue is ordered", given: queued("a", "b", "c"), action: `{"type":"chat/queuedMessagesReordered","order":["c","z","a","c"]}`, want: queued("c", "a", "b")},
	{name: "the queue is ordered already", given: queued("a", "b"), action: `{"type":"chat/queuedMessagesReordered","order":["a"]}`},
	{name: "no queue is ordered", action: `{"type":"chat/queuedMessagesReordered","order":["a"]}`},
}
