package reducer

// turn is a finished turn with the id, the state and the parts as JSON.
func turn(id, state, parts string) string {
	return `{"id":"` + id + `","startedAt":"2026-01-01T00:00:01.000Z","message":` + message + `,"responseParts":[` + parts + `],"state":"` + state + `"}`
}

// ended is a patch: turn t ended with the state and the parts after 1.5 s.
func ended(status, state, parts string) string {
	return `{"status":` + status + `,"modifiedAt":"2026-01-01T00:00:02.500Z","activeTurn":null,"turns":[
		{"id":"t","startedAt":"2026-01-01T00:00:01.000Z","duration":1500,"message":` + message + `,"responseParts":[` + parts + `],"state":"` + state + `"}]}`
}

const errorPart = `{"kind":"error","error":{"errorType":"e","message":"m"},"resumable":true}`

var turnRows = []row{
	{
		name:   "a turn starts",
		given:  `{"status":97}`,
		action: `{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:01.000Z","message":` + message + `,"_meta":{"x":1}}`,
		want:   `{"status":72,"modifiedAt":"2026-01-01T00:00:01.000Z",` + activeTurn() + `}`,
	},
	{
		name:   "a queued message starts a turn",
		given:  queued("a", "b"),
		action: `{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:01.000Z","message":` + message + `,"queuedMessageId":"a"}`,
		want:   `{"status":8,"modifiedAt":"2026-01-01T00:00:01.000Z","queuedMessages":[{"id":"b","message":` + message + `}],` + activeTurn() + `}`,
	},
	{
		name:   "the last queued message starts a turn",
		given:  queued("a"),
		action: `{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:01.000Z","message":` + message + `,"queuedMessageId":"a"}`,
		want:   `{"status":8,"modifiedAt":"2026-01-01T00:00:01.000Z","queuedMessages":null,` + activeTurn() + `}`,
	},
	{
		name:   "the steering message starts a turn",
		given:  steering,
		action: `{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:01.000Z","message":` + message + `,"queuedMessageId":"s"}`,
		want:   `{"status":8,"modifiedAt":"2026-01-01T00:00:01.000Z","steeringMessage":null,` + activeTurn() + `}`,
	},
	{name: "the active turn starts again", given: active(markdown("p", "a")), action: `{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:09.000Z","message":` + message + `}`},
	{
		name:   "a finished turn starts again",
		given:  `{"turns":[` + turn("t", "complete", "") + `]}`,
		action: `{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:09.000Z","message":` + message + `}`,
	},
	{name: "a turn completes", given: active(markdown("p", "a")), action: `{"type":"chat/turnComplete","turnId":"t","duration":1500}`, want: ended("1", "complete", markdown("p", "a"))},
	{name: "another turn completes", given: active(), action: `{"type":"chat/turnComplete","turnId":"z","duration":1}`},
	{name: "no turn completes", action: `{"type":"chat/turnComplete","turnId":"t","duration":1}`},
	{
		name:   "a turn is cancelled and keeps its usage and its open question",
		given:  `{"status":56,"activeTurn":{"id":"t","startedAt":"2026-01-01T00:00:01.000Z","message":` + message + `,"responseParts":[` + asked(``, ``) + `],"usage":{"model":"m"}}}`,
		action: `{"type":"chat/turnCancelled","turnId":"t","duration":1500}`,
		want: `{"status":33,"modifiedAt":"2026-01-01T00:00:02.500Z","activeTurn":null,"turns":[
			{"id":"t","startedAt":"2026-01-01T00:00:01.000Z","duration":1500,"message":` + message + `,"responseParts":[` + asked(``, ``) + `],"usage":{"model":"m"},"state":"cancelled"}]}`,
	},
	{
		name:   "a turn fails, the error behind the cancelled calls",
		given:  active(call("running", `"invocationMessage":"I","toolInput":"in","confirmed":"setting"`)),
		action: `{"type":"chat/error","turnId":"t","duration":1500,"part":` + errorPart + `}`,
		want:   ended("2", "error", call("cancelled", `"invocationMessage":"I","toolInput":"in","reason":"skipped"`)+`,`+errorPart),
	},
	{name: "a turn fails without a part", given: active(), action: `{"type":"chat/error","turnId":"t","duration":1500}`, want: ended("2", "error", "")},
	{name: "another turn fails", given: active(), action: `{"type":"chat/error","turnId":"z","duration":1,"part":` + errorPart + `}`},
	{
		name:   "a failed turn is resumed with all its parts",
		given:  `{"status":98,"turns":[` + turn("s", "complete", "") + `,` + turn("t", "error", markdown("p", "a")+`,`+errorPart) + `]}`,
		action: `{"type":"chat/turnResume","turnId":"t"}`,
		want:   `{"status":72,"turns":[` + turn("s", "complete", "") + `],` + activeTurn(markdown("p", "a"), errorPart) + `}`,
	},
	{
		name:   "a resumed turn that asks",
		given:  `{"status":2,"turns":[` + turn("t", "error", asked(``, ``)+`,`+errorPart) + `]}`,
		action: `{"type":"chat/turnResume","turnId":"t"}`,
		want:   `{"status":24,"turns":[],` + activeTurn(asked(``, ``), errorPart) + `}`,
	},
	{
		name:   "a resumed turn without a start has the chat's time",
		given:  `{"turns":[{"id":"t","message":` + message + `,"responseParts":[` + errorPart + `],"state":"error"}]}`,
		action: `{"type":"chat/turnResume","turnId":"t"}`,
		want:   `{"status":8,"turns":[],"activeTurn":{"id":"t","startedAt":"2026-01-01T00:00:00.000Z","message":` + message + `,"responseParts":[` + errorPart + `]}}`,
	},
	{name: "not the last turn is resumed", given: `{"turns":[` + turn("t", "error", errorPart) + `,` + turn("u", "complete", "") + `]}`, action: `{"type":"chat/turnResume","turnId":"t"}`},
	{name: "a complete turn is resumed", given: `{"turns":[` + turn("t", "complete", errorPart) + `]}`, action: `{"type":"chat/turnResume","turnId":"t"}`},
	{name: "an error that is not last is resumed", given: `{"turns":[` + turn("t", "error", errorPart+`,`+markdown("p", "")) + `]}`, action: `{"type":"chat/turnResume","turnId":"t"}`},
	{name: "an error for good is resumed", given: `{"turns":[` + turn("t", "error", `{"kind":"error","error":{"errorType":"e","message":"m"}}`) + `]}`, action: `{"type":"chat/turnResume","turnId":"t"}`},
	{name: "a turn is resumed in no turns", action: `{"type":"chat/turnResume","turnId":"t"}`},
	{
		name:   "truncated behind a turn",
		given:  `{"status":90,"turnsNextCursor":"c","draft":` + message + `,"turns":[` + turn("a", "complete", "") + `,` + turn("b", "complete", "") + `],` + activeTurn() + `}`,
		action: `{"type":"chat/truncated","turnId":"a"}`,
		want:   `{"status":65,"activeTurn":null,"turns":[` + turn("a", "complete", "") + `]}`,
	},
	{
		name:   "truncated whole",
		given:  `{"turnsNextCursor":"c","turns":[` + turn("a", "complete", "") + `]}`,
		action: `{"type":"chat/truncated"}`,
		want:   `{"turnsNextCursor":null,"turns":[]}`,
	},
	{name: "truncated behind an unknown turn", given: active(), action: `{"type":"chat/truncated","turnId":"z"}`},
	{name: "no turns truncated, but older ones on the host", given: `{"turnsNextCursor":"c"}`, action: `{"type":"chat/truncated"}`, want: `{"turnsNextCursor":null}`},
	{name: "truncated behind the last turn, older ones on the host", given: `{"turnsNextCursor":"c","turns":[` + turn("a", "complete", "") + `]}`, action: `{"type":"chat/truncated","turnId":"a"}`},
	{name: "truncated behind the last turn", given: `{"turns":[` + turn("a", "complete", "") + `]}`, action: `{"type":"chat/truncated","turnId":"a"}`},
	{
		name:   "older turns are loaded",
		given:  `{"turnsNextCursor":"1","turns":[` + turn("c", "complete", "") + `]}`,
		action: `{"type":"chat/turnsLoaded","turns":[` + turn("a", "complete", "") + `,null,` + turn("c", "error", "") + `],"turnsNextCursor":"2"}`,
		want:   `{"turnsNextCursor":"2","turns":[` + turn("a", "complete", "") + `,` + turn("c", "complete", "") + `]}`,
	},
	{
		name:   "the last older turns are loaded",
		given:  `{"turnsNextCursor":"1","turns":[]}`,
		action: `{"type":"chat/turnsLoaded","turns":[]}`,
		want:   `{"turnsNextCursor":null}`,
	},
}
