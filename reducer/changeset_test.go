package reducer

const (
	fileA = `{"id":"a","edit":{},"_meta":{"m":1}}`
	fileB = `{"id":"b","edit":{},"reviewed":true}`
	opRun = `{"id":"o","label":"L","scopes":["changeset"],"status":"error","error":{"errorType":"e","message":"m"}}`
)

var changesetRows = []row{
	{name: "status", action: `{"type":"changeset/statusChanged","status":"recomputing"}`, want: `{"status":"recomputing"}`},
	{
		name:   "status error keeps the error",
		action: `{"type":"changeset/statusChanged","status":"error","error":{"errorType":"e","message":"m"}}`,
		want:   `{"status":"error","error":{"errorType":"e","message":"m"}}`,
	},
	{
		name:   "another status drops old and new error",
		given:  `{"status":"error","error":{"errorType":"e","message":"m"}}`,
		action: `{"type":"changeset/statusChanged","status":"ready","error":{"errorType":"e","message":"m"}}`,
		want:   `{"status":"ready","error":null}`,
	},
	{name: "a file is added", given: `{"files":[` + fileA + `]}`, action: `{"type":"changeset/fileSet","file":` + fileB + `}`, want: `{"files":[` + fileA + `,` + fileB + `]}`},
	{
		name:   "a file is replaced whole, in place",
		given:  `{"files":[` + fileA + `,` + fileB + `]}`,
		action: `{"type":"changeset/fileSet","file":{"id":"a","edit":{}}}`,
		want:   `{"files":[{"id":"a","edit":{}},` + fileB + `]}`,
	},
	{name: "a file is removed", given: `{"files":[` + fileA + `]}`, action: `{"type":"changeset/fileRemoved","fileId":"a"}`, want: `{"files":[]}`},
	{name: "an unknown file is not removed", given: `{"files":[` + fileA + `]}`, action: `{"type":"changeset/fileRemoved","fileId":"z"}`},
	{
		name:   "reviewed",
		given:  `{"files":[` + fileA + `,` + fileB + `]}`,
		action: `{"type":"changeset/filesReviewChanged","files":["a","b","z"],"reviewed":true}`,
		want:   `{"files":[{"id":"a","edit":{},"_meta":{"m":1},"reviewed":true},` + fileB + `]}`,
	},
	{
		name:   "not reviewed is written where nothing was",
		given:  `{"files":[` + fileA + `]}`,
		action: `{"type":"changeset/filesReviewChanged","files":["a"],"reviewed":false}`,
		want:   `{"files":[{"id":"a","edit":{},"_meta":{"m":1},"reviewed":false}]}`,
	},
	{name: "reviewed already", given: `{"files":[` + fileB + `]}`, action: `{"type":"changeset/filesReviewChanged","files":["b"],"reviewed":true}`},
	{
		name:   "content keeps operations, status and error",
		given:  `{"status":"error","error":{"errorType":"e","message":"m"},"files":[` + fileA + `],"operations":[` + opRun + `]}`,
		action: `{"type":"changeset/contentChanged","files":[` + fileB + `]}`,
		want:   `{"files":[` + fileB + `]}`,
	},
	{
		name:   "content replaces operations",
		given:  `{"operations":[` + opRun + `]}`,
		action: `{"type":"changeset/contentChanged","files":[],"operations":[]}`,
		want:   `{"operations":[]}`,
	},
	{name: "operations are replaced", action: `{"type":"changeset/operationsChanged","operations":[` + opRun + `]}`, want: `{"operations":[` + opRun + `]}`},
	{name: "operations are removed", given: `{"operations":[` + opRun + `]}`, action: `{"type":"changeset/operationsChanged"}`, want: `{"operations":null}`},
	{
		name:   "an operation loses its error",
		given:  `{"operations":[` + opRun + `]}`,
		action: `{"type":"changeset/operationStatusChanged","operationId":"o","status":"running","error":{"errorType":"e","message":"m"}}`,
		want:   `{"operations":[{"id":"o","label":"L","scopes":["changeset"],"status":"running"}]}`,
	},
	{
		name:   "an operation fails",
		given:  `{"operations":[{"id":"o","label":"L","scopes":["changeset"],"status":"idle"}]}`,
		action: `{"type":"changeset/operationStatusChanged","operationId":"o","status":"error","error":{"errorType":"e","message":"m"}}`,
		want:   `{"operations":[` + opRun + `]}`,
	},
	{name: "an unknown operation", given: `{"operations":[` + opRun + `]}`, action: `{"type":"changeset/operationStatusChanged","operationId":"z","status":"idle"}`},
	{name: "an operation without a list", action: `{"type":"changeset/operationStatusChanged","operationId":"o","status":"idle"}`},
	{name: "cleared", given: `{"files":[` + fileA + `],"operations":[` + opRun + `]}`, action: `{"type":"changeset/cleared"}`, want: `{"files":[]}`},
	{name: "cleared already", action: `{"type":"changeset/cleared"}`},
}
