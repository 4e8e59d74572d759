package reducer

const (
	noteA = `{"id":"a","origin":{"session":"ahp-session:/s"},"resource":"file:///f","range":{"start":{"line":1,"character":0},"end":{"line":2,"character":0}},"resolved":false,"entries":[{"id":"1","text":"one"}]}`
	noteB = `{"id":"b","turnId":"old","resource":"file:///g","resolved":true,"entries":[]}`
)

var annotationRows = []row{
	{name: "added", given: `{"annotations":[` + noteA + `]}`, action: `{"type":"annotations/set","annotation":` + noteB + `}`, want: `{"annotations":[` + noteA + `,` + noteB + `]}`},
	{
		name:   "replaced whole, in place",
		given:  `{"annotations":[` + noteA + `,` + noteB + `]}`,
		action: `{"type":"annotations/set","annotation":{"id":"a","resource":"file:///h","resolved":true,"entries":[]}}`,
		want:   `{"annotations":[{"id":"a","resource":"file:///h","resolved":true,"entries":[]},` + noteB + `]}`,
	},
	{
		name:   "present members are written",
		given:  `{"annotations":[` + noteB + `]}`,
		action: `{"type":"annotations/updated","annotationId":"b","turnId":"new","origin":{"session":"ahp-session:/s","turnId":"t"},"resource":"file:///h","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"resolved":false}`,
		want:   `{"annotations":[{"id":"b","turnId":"new","origin":{"session":"ahp-session:/s","turnId":"t"},"resource":"file:///h","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"resolved":false,"entries":[]}]}`,
	},
	{name: "an unknown annotation is not updated", given: `{"annotations":[` + noteA + `]}`, action: `{"type":"annotations/updated","annotationId":"z","resolved":true}`},
	{name: "removed", given: `{"annotations":[` + noteA + `,` + noteB + `]}`, action: `{"type":"annotations/removed","annotationId":"a"}`, want: `{"annotations":[` + noteB + `]}`},
	{name: "an unknown annotation is not removed", given: `{"annotations":[` + noteA + `]}`, action: `{"type":"annotations/removed","annotationId":"z"}`},
	{
		name:   "an entry is added",
		given:  `{"annotations":[` + noteB + `]}`,
		action: `{"type":"annotations/entrySet","annotationId":"b","entry":{"id":"1","text":{"markdown":"*x*"}}}`,
		want:   `{"annotations":[{"id":"b","turnId":"old","resource":"file:///g","resolved":true,"entries":[{"id":"1","text":{"markdown":"*x*"}}]}]}`,
	},
	{name: "an entry of an unknown annotation", action: `{"type":"annotations/entrySet","annotationId":"b","entry":{"id":"1","text":"x"}}`},
	{
		name:   "the last entry can be removed",
		given:  `{"annotations":[{"id":"b","resource":"file:///g","resolved":true,"entries":[{"id":"1","text":"one"}]}]}`,
		action: `{"type":"annotations/entryRemoved","annotationId":"b","entryId":"1"}`,
		want:   `{"annotations":[{"id":"b","resource":"file:///g","resolved":true,"entries":[]}]}`,
	},
	{name: "an unknown entry is not removed", given: `{"annotations":[` + noteA + `]}`, action: `{"type":"annotations/entryRemoved","annotationId":"a","entryId":"z"}`},
	{name: "an entry of an unknown annotation is not removed", given: `{"annotations":[` + noteA + `]}`, action: `{"type":"annotations/entryRemoved","annotationId":"z","entryId":"1"}`},
}
