package reducer

const (
	openCmd   = `{"type":"command","commandId":"k","commandLine":"ls","output":"a","timestamp":5,"isComplete":false}`
	closedCmd = `{"type":"command","commandId":"k","commandLine":"ls","output":"a","timestamp":5,"isComplete":true}`
	futureOut = `{"type":"future","value":7,"commandId":"k"}`
)

var terminalRows = []row{
	{name: "data opens a part", action: `{"type":"terminal/data","data":"a"}`, want: `{"content":[{"type":"unclassified","value":"a"}]}`},
	{
		name:   "data extends the last part",
		given:  `{"content":[{"type":"unclassified","value":"a"}]}`,
		action: `{"type":"terminal/data","data":"b"}`,
		want:   `{"content":[{"type":"unclassified","value":"ab"}]}`,
	},
	{
		name:   "data extends an open command",
		given:  `{"content":[` + openCmd + `]}`,
		action: `{"type":"terminal/data","data":"b"}`,
		want:   `{"content":[{"type":"command","commandId":"k","commandLine":"ls","output":"ab","timestamp":5,"isComplete":false}]}`,
	},
	{
		name:   "data after a finished command opens a part",
		given:  `{"content":[` + closedCmd + `]}`,
		action: `{"type":"terminal/data","data":"b"}`,
		want:   `{"content":[` + closedCmd + `,{"type":"unclassified","value":"b"}]}`,
	},
	{
		name:   "data after an unknown part opens a part",
		given:  `{"content":[` + futureOut + `]}`,
		action: `{"type":"terminal/data","data":"b"}`,
		want:   `{"content":[` + futureOut + `,{"type":"unclassified","value":"b"}]}`,
	},
	{name: "input changes nothing", action: `{"type":"terminal/input","data":"ls\r"}`},
	{name: "size", action: `{"type":"terminal/resized","cols":80,"rows":24}`, want: `{"cols":80,"rows":24}`},
	{
		name:   "claim is replaced",
		action: `{"type":"terminal/claimed","claim":{"kind":"session","session":"ahp-session:/s","chat":"ahp-chat:/c"}}`,
		want:   `{"claim":{"kind":"session","clientId":null,"session":"ahp-session:/s","chat":"ahp-chat:/c"}}`,
	},
	{name: "title", action: `{"type":"terminal/titleChanged","title":""}`, want: `{"title":""}`},
	{name: "directory", action: `{"type":"terminal/cwdChanged","cwd":"file:///w"}`, want: `{"cwd":"file:///w"}`},
	{
		name:   "exit leaves an open command open",
		given:  `{"content":[` + openCmd + `]}`,
		action: `{"type":"terminal/exited","exitCode":0}`,
		want:   `{"lifecycle":{"status":"exited","exitCode":0}}`,
	},
	{name: "exit without a code", action: `{"type":"terminal/exited"}`, want: `{"lifecycle":{"status":"exited"}}`},
	{name: "cleared", given: `{"content":[` + openCmd + `]}`, action: `{"type":"terminal/cleared"}`, want: `{"content":[]}`},
	{name: "detection", action: `{"type":"terminal/commandDetectionAvailable"}`, want: `{"supportsCommandDetection":true}`},
	{
		name:   "a command opens",
		action: `{"type":"terminal/commandExecuted","commandId":"k","commandLine":"","timestamp":1790000000000}`,
		want:   `{"supportsCommandDetection":true,"content":[{"type":"command","commandId":"k","commandLine":"","output":"","timestamp":1790000000000,"isComplete":false}]}`,
	},
	{
		name:   "every command with the id finishes",
		given:  `{"content":[` + futureOut + `,` + openCmd + `,{"type":"unclassified","value":"u"},` + openCmd + `]}`,
		action: `{"type":"terminal/commandFinished","commandId":"k","exitCode":0,"durationMs":12}`,
		want: `{"content":[` + futureOut + `,
			{"type":"command","commandId":"k","commandLine":"ls","output":"a","timestamp":5,"isComplete":true,"exitCode":0,"durationMs":12},
			{"type":"unclassified","value":"u"},
			{"type":"command","commandId":"k","commandLine":"ls","output":"a","timestamp":5,"isComplete":true,"exitCode":0,"durationMs":12}]}`,
	},
	{
		name:   "a finished command forgets its code without a new one",
		given:  `{"content":[{"type":"command","commandId":"k","commandLine":"ls","output":"a","timestamp":5,"isComplete":true,"exitCode":7}]}`,
		action: `{"type":"terminal/commandFinished","commandId":"k"}`,
		want:   `{"content":[` + closedCmd + `]}`,
	},
	{
		name:   "another command stays open",
		given:  `{"content":[` + openCmd + `,{"type":"command","commandId":"other","isComplete":false}]}`,
		action: `{"type":"terminal/commandFinished","commandId":"k"}`,
		want:   `{"content":[` + closedCmd + `,{"type":"command","commandId":"other","isComplete":false}]}`,
	},
	{
		name:   "what only carries the id is no command",
		given:  `{"content":[{"type":"unclassified","value":"u","commandId":"k"}]}`,
		action: `{"type":"terminal/commandFinished","commandId":"k","exitCode":1}`,
	},
	{name: "an unknown command", given: `{"content":[` + openCmd + `]}`, action: `{"type":"terminal/commandFinished","commandId":"other","exitCode":1}`},
}
