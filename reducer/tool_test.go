package reducer

const (
	running   = `"invocationMessage":"I","toolInput":"in","confirmed":"user-action"`
	options   = `"options":[{"id":"yes","label":"Y","kind":"approve"},{"id":"no","label":"N","kind":"deny"}]`
	chosen    = `"selectedOption":{"id":"yes","label":"Y","kind":"approve"}`
	pending   = `"invocationMessage":"I","toolInput":"in","confirmationTitle":"T","riskAssessment":{"kind":"judge","status":"loading"},"edits":{"items":[]},"editable":true,` + options
	mcp       = `"contributor":{"kind":"mcp","customizationId":"m"}`
	auth      = `"auth":{"reason":"required","resource":{"resource":"r"}}`
	output    = `"content":[{"type":"text","text":"out"}]`
	result    = `"success":true,"pastTenseMessage":"P"`
	otherCall = `{"kind":"toolCall","toolCall":{"status":"running","toolCallId":"y","toolName":"n","displayName":"N"}}`
	failure   = `"success":false,"pastTenseMessage":"F","error":{"message":"e"}`
)

var toolRows = []row{
	{
		name:   "a call starts",
		given:  active(),
		action: tool("Start", `"toolName":"n","displayName":"N","intention":"","_meta":{"m":1},`+mcp),
		want:   active(call("streaming", `"intention":"","_meta":{"m":1},`+mcp)),
	},
	{name: "a call with a known id starts", given: active(call("completed", "")), action: tool("Start", `"toolName":"n","displayName":"N"`), want: active(call("completed", ""), call("streaming", ""))},
	{name: "a call starts in another turn", action: tool("Start", `"toolName":"n","displayName":"N"`)},
	{name: "input streams", given: active(call("streaming", `"partialInput":"a"`)), action: tool("Delta", `"content":"b"`), want: active(call("streaming", `"partialInput":"ab"`))},
	{
		name:   "a delta without content",
		given:  active(call("streaming", ``)),
		action: tool("Delta", `"invocationMessage":{"markdown":"*I*"},"_meta":{"m":1}`),
		want:   active(call("streaming", `"invocationMessage":{"markdown":"*I*"},"_meta":{"m":1}`)),
	},
	{name: "a delta for a running call", given: active(call("running", running)), action: tool("Delta", `"content":"b"`)},
	{
		name:   "ready and confirmed",
		given:  active(call("streaming", `"partialInput":"a","invocationMessage":"old"`)),
		action: tool("Ready", `"invocationMessage":"I","toolInput":"in","confirmed":"not-needed","confirmationTitle":"T",`+options),
		want:   active(call("running", `"invocationMessage":"I","toolInput":"in","confirmed":"not-needed"`)),
	},
	{
		name:   "ready without an input",
		given:  active(call("streaming", `"partialInput":"a","toolInput":"never valid while streaming"`)),
		action: tool("Ready", `"invocationMessage":"I","confirmed":"setting"`),
		want:   active(call("running", `"invocationMessage":"I","confirmed":"setting"`)),
	},
	{name: "ready to be confirmed", given: active(call("streaming", `"partialInput":"a"`)), action: tool("Ready", pending), want: waiting(call("pending-confirmation", pending))},
	{
		name:   "asked again, with what was there before",
		given:  waiting(call("pending-confirmation", pending)),
		action: tool("Ready", `"invocationMessage":"J","editable":false,"options":[]`),
		want:   waiting(call("pending-confirmation", `"invocationMessage":"J","toolInput":"in","confirmationTitle":"T","riskAssessment":{"kind":"judge","status":"loading"},"edits":{"items":[]},"editable":false,"options":[]`)),
	},
	{name: "ready after the end", given: active(call("completed", running)), action: tool("Ready", pending)},
	{name: "ready to stay a client's", given: active(call("streaming", `"contributor":{"kind":"client","clientId":"c"}`)), action: tool("Ready", `"invocationMessage":"I","confirmed":"setting","intention":"i",`+mcp), want: active(call("running", `"invocationMessage":"I","confirmed":"setting","intention":"i","contributor":{"kind":"client","clientId":"c"}`))},
	{name: "ready too late for a client", given: active(call("streaming", mcp)), action: tool("Ready", `"invocationMessage":"I","confirmed":"setting","contributor":{"kind":"client","clientId":"c"}`), want: active(call("running", `"invocationMessage":"I","confirmed":"setting",`+mcp))},
	{
		name:   "approved with an option and an edit",
		given:  waiting(call("pending-confirmation", pending)),
		action: tool("Confirmed", `"approved":true,"confirmed":"user-action","selectedOptionId":"yes","editedToolInput":""`),
		want:   active(call("running", `"invocationMessage":"I","toolInput":"","confirmed":"user-action",`+chosen)),
	},
	{
		name:   "an edit of a reference waits for the host",
		given:  waiting(call("pending-confirmation", `"invocationMessage":"I","toolInput":{"uri":"u"}`)),
		action: tool("Confirmed", `"approved":true,"confirmed":"user-action","editedToolInput":"new"`),
		want:   active(call("running", `"invocationMessage":"I","toolInput":{"uri":"u"},"confirmed":"user-action"`)),
	},
	{
		name:   "denied",
		given:  waiting(call("pending-confirmation", pending)),
		action: tool("Confirmed", `"approved":false,"reason":"denied","reasonMessage":"R","userSuggestion":`+message+`,"selectedOptionId":"no","editedToolInput":"new"`),
		want:   active(call("cancelled", `"invocationMessage":"I","toolInput":"in","reason":"denied","reasonMessage":"R","userSuggestion":`+message+`,"selectedOption":{"id":"no","label":"N","kind":"deny"}`)),
	},
	{name: "confirmed while running", given: active(call("running", running)), action: tool("Confirmed", `"approved":true,"confirmed":"user-action"`)},
	{
		name:   "completed",
		given:  active(call("running", running+","+chosen+","+output)),
		action: tool("Complete", `"result":{`+failure+`,"structuredContent":{"s":1},"unknownMember":1}`),
		want:   active(call("completed", running+","+chosen+","+failure+`,"structuredContent":{"s":1},"unknownMember":1`)),
	},
	{
		name:   "completed, the result to be confirmed",
		given:  active(call("running", running)),
		action: tool("Complete", `"result":{`+result+`,`+output+`},"requiresResultConfirmation":true`),
		want:   waiting(call("pending-result-confirmation", running+","+result+","+output)),
	},
	{name: "completed in another turn", given: active(call("running", running)), action: `{"type":"chat/toolCallComplete","turnId":"z","toolCallId":"x","result":{` + result + `}}`},
	{
		name:   "every call with the id is completed",
		given:  active(call("running", running), `{"kind":"toolCall"}`, otherCall, call("running", running)),
		action: tool("Complete", `"result":{`+result+`}`),
		want:   active(call("completed", running+","+result), `{"kind":"toolCall"}`, otherCall, call("completed", running+","+result)),
	},
	{
		name:   "the call behind a text with its id is completed",
		given:  active(markdown("x", ""), call("running", running)),
		action: tool("Complete", `"result":{`+result+`}`),
		want:   active(markdown("x", ""), call("completed", running+","+result)),
	},
	{
		name:   "a result is approved",
		given:  waiting(call("pending-result-confirmation", running+","+chosen+","+failure+","+output+`,"structuredContent":{"s":1},"unknownMember":1`)),
		action: tool("ResultConfirmed", `"approved":true,"_meta":{"m":1}`),
		want:   active(call("completed", running+","+chosen+","+failure+","+output+`,"structuredContent":{"s":1},"_meta":{"m":1}`)),
	},
	{
		name:   "a result is denied",
		given:  waiting(call("pending-result-confirmation", running+","+chosen+","+result+","+output)),
		action: tool("ResultConfirmed", `"approved":false`),
		want:   active(call("cancelled", `"invocationMessage":"I","toolInput":"in","reason":"result-denied",`+chosen)),
	},
	{name: "no result is denied", given: active(call("completed", running+","+result)), action: tool("ResultConfirmed", `"approved":false`)},
	{name: "output", given: active(call("running", running)), action: tool("ContentChanged", output), want: active(call("running", running+","+output))},
	{name: "empty output", given: active(call("running", running+","+output)), action: tool("ContentChanged", `"content":[]`), want: active(call("running", running+`,"content":[]`))},
	{name: "output of a call that waits", given: waiting(call("pending-confirmation", pending)), action: tool("ContentChanged", output)},
	{
		name:   "a sign-in is needed",
		given:  active(call("running", running+","+mcp+","+chosen+","+output)),
		action: tool("AuthRequired", auth),
		want:   waiting(call("auth-required", running+","+mcp+","+chosen+","+output+","+auth)),
	},
	{name: "a sign-in for a tool of the host", given: active(call("running", running)), action: tool("AuthRequired", auth)},
	{
		name:   "signed in",
		given:  waiting(call("auth-required", running+","+mcp+","+chosen+","+output+","+auth)),
		action: tool("AuthResolved", ``),
		want:   active(call("running", running+","+mcp+","+chosen+","+output)),
	},
	{name: "signed in for nothing", given: active(call("running", running+","+mcp)), action: tool("AuthResolved", ``)},
}
