package ahp

// actions lists every action type of the core channels: its Go type, the
// protocol version that introduced it and whether a client may dispatch it
// (AHP channels, 1.5 and the tables of part 2).
var actions = map[string]actionInfo{
	"root/agentsChanged":                   {new: func() Action { return new(RootAgentsChanged) }, since: "0.1.0"},
	"root/activeSessionsChanged":           {new: func() Action { return new(RootActiveSessionsChanged) }, since: "0.1.0"},
	"root/terminalsChanged":                {new: func() Action { return new(RootTerminalsChanged) }, since: "0.1.0"},
	"root/configChanged":                   {new: func() Action { return new(RootConfigChanged) }, since: "0.1.0", fromClient: true},
	"session/ready":                        {new: func() Action { return new(SessionReady) }, since: "0.1.0"},
	"session/creationFailed":               {new: func() Action { return new(SessionCreationFailed) }, since: "0.1.0"},
	"session/chatAdded":                    {new: func() Action { return new(SessionChatAdded) }, since: "0.4.0"},
	"session/chatRemoved":                  {new: func() Action { return new(SessionChatRemoved) }, since: "0.4.0"},
	"session/chatUpdated":                  {new: func() Action { return new(SessionChatUpdated) }, since: "0.4.0"},
	"session/chatsReordered":               {new: func() Action { return new(SessionChatsReordered) }, since: "0.9.0"},
	"session/defaultChatChanged":           {new: func() Action { return new(SessionDefaultChatChanged) }, since: "0.4.0"},
	"session/titleChanged":                 {new: func() Action { return new(SessionTitleChanged) }, since: "0.1.0", fromClient: true},
	"session/isReadChanged":                {new: func() Action { return new(SessionIsReadChanged) }, since: "0.1.0", fromClient: true},
	"session/isArchivedChanged":            {new: func() Action { return new(SessionIsArchivedChanged) }, since: "0.1.0", fromClient: true},
	"session/activityChanged":              {new: func() Action { return new(SessionActivityChanged) }, since: "0.1.0"},
	"session/changesetsChanged":            {new: func() Action { return new(SessionChangesetsChanged) }, since: "0.2.0"},
	"session/serverToolsChanged":           {new: func() Action { return new(SessionServerToolsChanged) }, since: "0.1.0"},
	"session/activeClientSet":              {new: func() Action { return new(SessionActiveClientSet) }, since: "0.5.0", fromClient: true},
	"session/activeClientRemoved":          {new: func() Action { return new(SessionActiveClientRemoved) }, since: "0.5.0", fromClient: true},
	"session/inputNeededSet":               {new: func() Action { return new(SessionInputNeededSet) }, since: "0.5.1"},
	"session/inputNeededRemoved":           {new: func() Action { return new(SessionInputNeededRemoved) }, since: "0.5.1"},
	"session/customizationsChanged":        {new: func() Action { return new(SessionCustomizationsChanged) }, since: "0.1.0"},
	"session/customizationToggled":         {new: func() Action { return new(SessionCustomizationToggled) }, since: "0.1.0", fromClient: true},
	"session/customizationUpdated":         {new: func() Action { return new(SessionCustomizationUpdated) }, since: "0.1.0"},
	"session/customizationRemoved":         {new: func() Action { return new(SessionCustomizationRemoved) }, since: "0.2.0"},
	"session/mcpServerStateChanged":        {new: func() Action { return new(SessionMCPServerStateChanged) }, since: "0.3.0"},
	"session/mcpServerStartRequested":      {new: func() Action { return new(SessionMCPServerStartRequested) }, since: "0.5.2", fromClient: true},
	"session/mcpServerStopRequested":       {new: func() Action { return new(SessionMCPServerStopRequested) }, since: "0.5.2", fromClient: true},
	"session/mcpServerBackgroundRequested": {new: func() Action { return new(SessionMCPServerBackgroundRequested) }, since: "0.9.0", fromClient: true},
	"session/configChanged":                {new: func() Action { return new(SessionConfigChanged) }, since: "0.1.0", fromClient: true},
	"session/metaChanged":                  {new: func() Action { return new(SessionMetaChanged) }, since: "0.1.0"},
	"session/workingDirectorySet":          {new: func() Action { return new(SessionWorkingDirectorySet) }, since: "0.7.0", fromClient: true},
	"session/workingDirectoryRemoved":      {new: func() Action { return new(SessionWorkingDirectoryRemoved) }, since: "0.7.0", fromClient: true},
	"session/workingDirectoryReplaced":     {new: func() Action { return new(SessionWorkingDirectoryReplaced) }, since: "0.8.0", fromClient: true},
	"chat/turnStarted":                     {new: func() Action { return new(ChatTurnStarted) }, since: "0.4.0", fromClient: true},
	"chat/delta":                           {new: func() Action { return new(ChatDelta) }, since: "0.4.0"},
	"chat/reasoning":                       {new: func() Action { return new(ChatReasoning) }, since: "0.4.0"},
	"chat/responsePart":                    {new: func() Action { return new(ChatResponsePart) }, since: "0.4.0"},
	"chat/usage":                           {new: func() Action { return new(ChatUsage) }, since: "0.4.0"},
	"chat/turnComplete":                    {new: func() Action { return new(ChatTurnComplete) }, since: "0.4.0"},
	"chat/turnCancelled":                   {new: func() Action { return new(ChatTurnCancelled) }, since: "0.4.0", fromClient: true},
	"chat/error":                           {new: func() Action { return new(ChatError) }, since: "0.4.0"},
	"chat/turnResume":                      {new: func() Action { return new(ChatTurnResume) }, since: "0.9.0", fromClient: true},
	"chat/activityChanged":                 {new: func() Action { return new(ChatActivityChanged) }, since: "0.5.0"},
	"chat/toolCallStart":                   {new: func() Action { return new(ChatToolCallStart) }, since: "0.4.0"},
	"chat/toolCallDelta":                   {new: func() Action { return new(ChatToolCallDelta) }, since: "0.4.0"},
	"chat/toolCallReady":                   {new: func() Action { return new(ChatToolCallReady) }, since: "0.4.0"},
	"chat/toolCallConfirmed":               {new: func() Action { return new(ChatToolCallConfirmed) }, since: "0.4.0", fromClient: true},
	"chat/toolCallComplete":                {new: func() Action { return new(ChatToolCallComplete) }, since: "0.4.0", fromClient: true},
	"chat/toolCallResultConfirmed":         {new: func() Action { return new(ChatToolCallResultConfirmed) }, since: "0.4.0", fromClient: true},
	"chat/toolCallContentChanged":          {new: func() Action { return new(ChatToolCallContentChanged) }, since: "0.4.0", fromClient: true},
	"chat/toolCallAuthRequired":            {new: func() Action { return new(ChatToolCallAuthRequired) }, since: "0.6.0"},
	"chat/toolCallAuthResolved":            {new: func() Action { return new(ChatToolCallAuthResolved) }, since: "0.6.0"},
	"chat/truncated":                       {new: func() Action { return new(ChatTruncated) }, since: "0.4.0", fromClient: true},
	"chat/turnsLoaded":                     {new: func() Action { return new(ChatTurnsLoaded) }, since: "0.5.1"},
	"chat/pendingMessageSet":               {new: func() Action { return new(ChatPendingMessageSet) }, since: "0.4.0", fromClient: true},
	"chat/pendingMessageRemoved":           {new: func() Action { return new(ChatPendingMessageRemoved) }, since: "0.4.0", fromClient: true},
	"chat/queuedMessagesReordered":         {new: func() Action { return new(ChatQueuedMessagesReordered) }, since: "0.4.0", fromClient: true},
	"chat/draftChanged":                    {new: func() Action { return new(ChatDraftChanged) }, since: "0.5.0", fromClient: true},
	"chat/inputRequested":                  {new: func() Action { return new(ChatInputRequested) }, since: "0.4.0"},
	"chat/inputAnswerChanged":              {new: func() Action { return new(ChatInputAnswerChanged) }, since: "0.4.0", fromClient: true},
	"chat/inputCompleted":                  {new: func() Action { return new(ChatInputCompleted) }, since: "0.4.0", fromClient: true},
	"chat/workingDirectorySet":             {new: func() Action { return new(ChatWorkingDirectorySet) }, since: "0.7.0", fromClient: true},
	"chat/workingDirectoryRemoved":         {new: func() Action { return new(ChatWorkingDirectoryRemoved) }, since: "0.7.0", fromClient: true},
	"chat/changesetsChanged":               {new: func() Action { return new(ChatChangesetsChanged) }, since: "0.9.0"},
	"chat/backgroundWorkSet":               {new: func() Action { return new(ChatBackgroundWorkSet) }, since: "0.9.0"},
	"chat/backgroundWorkRemoved":           {new: func() Action { return new(ChatBackgroundWorkRemoved) }, since: "0.9.0"},
	"chat/movableChanged":                  {new: func() Action { return new(ChatMovableChanged) }, since: "0.9.0"},
	"chat/isReadChanged":                   {new: func() Action { return new(ChatIsReadChanged) }, since: "0.9.0", fromClient: true},
	"chat/isArchivedChanged":               {new: func() Action { return new(ChatIsArchivedChanged) }, since: "0.9.0", fromClient: true},
	"chat/canvasesChanged":                 {new: func() Action { return new(ChatCanvasesChanged) }, since: "0.10.0"},
	"terminal/data":                        {new: func() Action { return new(TerminalData) }, since: "0.1.0"},
	"terminal/input":                       {new: func() Action { return new(TerminalInput) }, since: "0.1.0", fromClient: true},
	"terminal/resized":                     {new: func() Action { return new(TerminalResized) }, since: "0.1.0", fromClient: true},
	"terminal/claimed":                     {new: func() Action { return new(TerminalClaimed) }, since: "0.1.0", fromClient: true},
	"terminal/titleChanged":                {new: func() Action { return new(TerminalTitleChanged) }, since: "0.1.0", fromClient: true},
	"terminal/cwdChanged":                  {new: func() Action { return new(TerminalCWDChanged) }, since: "0.1.0"},
	"terminal/exited":                      {new: func() Action { return new(TerminalExitedAction) }, since: "0.1.0"},
	"terminal/cleared":                     {new: func() Action { return new(TerminalCleared) }, since: "0.1.0", fromClient: true},
	"terminal/commandDetectionAvailable":   {new: func() Action { return new(TerminalCommandDetectionAvailable) }, since: "0.1.0"},
	"terminal/commandExecuted":             {new: func() Action { return new(TerminalCommandExecuted) }, since: "0.1.0"},
	"terminal/commandFinished":             {new: func() Action { return new(TerminalCommandFinished) }, since: "0.1.0"},
	"changeset/statusChanged":              {new: func() Action { return new(ChangesetStatusChanged) }, since: "0.2.0"},
	"changeset/fileSet":                    {new: func() Action { return new(ChangesetFileSet) }, since: "0.2.0"},
	"changeset/fileRemoved":                {new: func() Action { return new(ChangesetFileRemoved) }, since: "0.2.0"},
	"changeset/filesReviewChanged":         {new: func() Action { return new(ChangesetFilesReviewChanged) }, since: "0.6.0", fromClient: true},
	"changeset/contentChanged":             {new: func() Action { return new(ChangesetContentChanged) }, since: "0.4.0"},
	"changeset/operationsChanged":          {new: func() Action { return new(ChangesetOperationsChanged) }, since: "0.2.0"},
	"changeset/operationStatusChanged":     {new: func() Action { return new(ChangesetOperationStatusChanged) }, since: "0.3.0"},
	"changeset/cleared":                    {new: func() Action { return new(ChangesetCleared) }, since: "0.2.0"},
	"annotations/set":                      {new: func() Action { return new(AnnotationsSet) }, since: "0.4.0", fromClient: true},
	"annotations/updated":                  {new: func() Action { return new(AnnotationsUpdated) }, since: "0.4.0", fromClient: true},
	"annotations/removed":                  {new: func() Action { return new(AnnotationsRemoved) }, since: "0.4.0", fromClient: true},
	"annotations/entrySet":                 {new: func() Action { return new(AnnotationsEntrySet) }, since: "0.4.0", fromClient: true},
	"annotations/entryRemoved":             {new: func() Action { return new(AnnotationsEntryRemoved) }, since: "0.4.0", fromClient: true},
	"clientService/set":                    {new: func() Action { return new(ClientServiceSet) }, since: "1.1.0"},
	"clientService/removed":                {new: func() Action { return new(ClientServiceRemoved) }, since: "1.1.0"},
	"resourceWatch/changed":                {new: func() Action { return new(ResourceWatchChanged) }, since: "0.2.0"},
}

// ActionType implements Action.
func (*RootAgentsChanged) ActionType() string { return "root/agentsChanged" }

// ActionType implements Action.
func (*RootActiveSessionsChanged) ActionType() string { return "root/activeSessionsChanged" }

// ActionType implements Action.
func (*RootTerminalsChanged) ActionType() string { return "root/terminalsChanged" }

// ActionType implements Action.
func (*RootConfigChanged) ActionType() string { return "root/configChanged" }

// ActionType implements Action.
func (*SessionReady) ActionType() string { return "session/ready" }

// ActionType implements Action.
func (*SessionCreationFailed) ActionType() string { return "session/creationFailed" }

// ActionType implements Action.
func (*SessionChatAdded) ActionType() string { return "session/chatAdded" }

// ActionType implements Action.
func (*SessionChatRemoved) ActionType() string { return "session/chatRemoved" }

// ActionType implements Action.
func (*SessionChatUpdated) ActionType() string { return "session/chatUpdated" }

// ActionType implements Action.
func (*SessionChatsReordered) ActionType() string { return "session/chatsReordered" }

// ActionType implements Action.
func (*SessionDefaultChatChanged) ActionType() string { return "session/defaultChatChanged" }

// ActionType implements Action.
func (*SessionTitleChanged) ActionType() string { return "session/titleChanged" }

// ActionType implements Action.
func (*SessionIsReadChanged) ActionType() string { return "session/isReadChanged" }

// ActionType implements Action.
func (*SessionIsArchivedChanged) ActionType() string { return "session/isArchivedChanged" }

// ActionType implements Action.
func (*SessionActivityChanged) ActionType() string { return "session/activityChanged" }

// ActionType implements Action.
func (*SessionChangesetsChanged) ActionType() string { return "session/changesetsChanged" }

// ActionType implements Action.
func (*SessionServerToolsChanged) ActionType() string { return "session/serverToolsChanged" }

// ActionType implements Action.
func (*SessionActiveClientSet) ActionType() string { return "session/activeClientSet" }

// ActionType implements Action.
func (*SessionActiveClientRemoved) ActionType() string { return "session/activeClientRemoved" }

// ActionType implements Action.
func (*SessionInputNeededSet) ActionType() string { return "session/inputNeededSet" }

// ActionType implements Action.
func (*SessionInputNeededRemoved) ActionType() string { return "session/inputNeededRemoved" }

// ActionType implements Action.
func (*SessionCustomizationsChanged) ActionType() string { return "session/customizationsChanged" }

// ActionType implements Action.
func (*SessionCustomizationToggled) ActionType() string { return "session/customizationToggled" }

// ActionType implements Action.
func (*SessionCustomizationUpdated) ActionType() string { return "session/customizationUpdated" }

// ActionType implements Action.
func (*SessionCustomizationRemoved) ActionType() string { return "session/customizationRemoved" }

// ActionType implements Action.
func (*SessionMCPServerStateChanged) ActionType() string { return "session/mcpServerStateChanged" }

// ActionType implements Action.
func (*SessionMCPServerStartRequested) ActionType() string { return "session/mcpServerStartRequested" }

// ActionType implements Action.
func (*SessionMCPServerStopRequested) ActionType() string { return "session/mcpServerStopRequested" }

// ActionType implements Action.
func (*SessionMCPServerBackgroundRequested) ActionType() string {
	return "session/mcpServerBackgroundRequested"
}

// ActionType implements Action.
func (*SessionConfigChanged) ActionType() string { return "session/configChanged" }

// ActionType implements Action.
func (*SessionMetaChanged) ActionType() string { return "session/metaChanged" }

// ActionType implements Action.
func (*SessionWorkingDirectorySet) ActionType() string { return "session/workingDirectorySet" }

// ActionType implements Action.
func (*SessionWorkingDirectoryRemoved) ActionType() string { return "session/workingDirectoryRemoved" }

// ActionType implements Action.
func (*SessionWorkingDirectoryReplaced) ActionType() string {
	return "session/workingDirectoryReplaced"
}

// ActionType implements Action.
func (*ChatTurnStarted) ActionType() string { return "chat/turnStarted" }

// ActionType implements Action.
func (*ChatDelta) ActionType() string { return "chat/delta" }

// ActionType implements Action.
func (*ChatReasoning) ActionType() string { return "chat/reasoning" }

// ActionType implements Action.
func (*ChatResponsePart) ActionType() string { return "chat/responsePart" }

// ActionType implements Action.
func (*ChatUsage) ActionType() string { return "chat/usage" }

// ActionType implements Action.
func (*ChatTurnComplete) ActionType() string { return "chat/turnComplete" }

// ActionType implements Action.
func (*ChatTurnCancelled) ActionType() string { return "chat/turnCancelled" }

// ActionType implements Action.
func (*ChatError) ActionType() string { return "chat/error" }

// ActionType implements Action.
func (*ChatTurnResume) ActionType() string { return "chat/turnResume" }

// ActionType implements Action.
func (*ChatActivityChanged) ActionType() string { return "chat/activityChanged" }

// ActionType implements Action.
func (*ChatToolCallStart) ActionType() string { return "chat/toolCallStart" }

// ActionType implements Action.
func (*ChatToolCallDelta) ActionType() string { return "chat/toolCallDelta" }

// ActionType implements Action.
func (*ChatToolCallReady) ActionType() string { return "chat/toolCallReady" }

// ActionType implements Action.
func (*ChatToolCallConfirmed) ActionType() string { return "chat/toolCallConfirmed" }

// ActionType implements Action.
func (*ChatToolCallComplete) ActionType() string { return "chat/toolCallComplete" }

// ActionType implements Action.
func (*ChatToolCallResultConfirmed) ActionType() string { return "chat/toolCallResultConfirmed" }

// ActionType implements Action.
func (*ChatToolCallContentChanged) ActionType() string { return "chat/toolCallContentChanged" }

// ActionType implements Action.
func (*ChatToolCallAuthRequired) ActionType() string { return "chat/toolCallAuthRequired" }

// ActionType implements Action.
func (*ChatToolCallAuthResolved) ActionType() string { return "chat/toolCallAuthResolved" }

// ActionType implements Action.
func (*ChatTruncated) ActionType() string { return "chat/truncated" }

// ActionType implements Action.
func (*ChatTurnsLoaded) ActionType() string { return "chat/turnsLoaded" }

// ActionType implements Action.
func (*ChatPendingMessageSet) ActionType() string { return "chat/pendingMessageSet" }

// ActionType implements Action.
func (*ChatPendingMessageRemoved) ActionType() string { return "chat/pendingMessageRemoved" }

// ActionType implements Action.
func (*ChatQueuedMessagesReordered) ActionType() string { return "chat/queuedMessagesReordered" }

// ActionType implements Action.
func (*ChatDraftChanged) ActionType() string { return "chat/draftChanged" }

// ActionType implements Action.
func (*ChatInputRequested) ActionType() string { return "chat/inputRequested" }

// ActionType implements Action.
func (*ChatInputAnswerChanged) ActionType() string { return "chat/inputAnswerChanged" }

// ActionType implements Action.
func (*ChatInputCompleted) ActionType() string { return "chat/inputCompleted" }

// ActionType implements Action.
func (*ChatWorkingDirectorySet) ActionType() string { return "chat/workingDirectorySet" }

// ActionType implements Action.
func (*ChatWorkingDirectoryRemoved) ActionType() string { return "chat/workingDirectoryRemoved" }

// ActionType implements Action.
func (*ChatChangesetsChanged) ActionType() string { return "chat/changesetsChanged" }

// ActionType implements Action.
func (*ChatBackgroundWorkSet) ActionType() string { return "chat/backgroundWorkSet" }

// ActionType implements Action.
func (*ChatBackgroundWorkRemoved) ActionType() string { return "chat/backgroundWorkRemoved" }

// ActionType implements Action.
func (*ChatMovableChanged) ActionType() string { return "chat/movableChanged" }

// ActionType implements Action.
func (*ChatIsReadChanged) ActionType() string { return "chat/isReadChanged" }

// ActionType implements Action.
func (*ChatIsArchivedChanged) ActionType() string { return "chat/isArchivedChanged" }

// ActionType implements Action.
func (*ChatCanvasesChanged) ActionType() string { return "chat/canvasesChanged" }

// ActionType implements Action.
func (*TerminalData) ActionType() string { return "terminal/data" }

// ActionType implements Action.
func (*TerminalInput) ActionType() string { return "terminal/input" }

// ActionType implements Action.
func (*TerminalResized) ActionType() string { return "terminal/resized" }

// ActionType implements Action.
func (*TerminalClaimed) ActionType() string { return "terminal/claimed" }

// ActionType implements Action.
func (*TerminalTitleChanged) ActionType() string { return "terminal/titleChanged" }

// ActionType implements Action.
func (*TerminalCWDChanged) ActionType() string { return "terminal/cwdChanged" }

// ActionType implements Action.
func (*TerminalExitedAction) ActionType() string { return "terminal/exited" }

// ActionType implements Action.
func (*TerminalCleared) ActionType() string { return "terminal/cleared" }

// ActionType implements Action.
func (*TerminalCommandDetectionAvailable) ActionType() string {
	return "terminal/commandDetectionAvailable"
}

// ActionType implements Action.
func (*TerminalCommandExecuted) ActionType() string { return "terminal/commandExecuted" }

// ActionType implements Action.
func (*TerminalCommandFinished) ActionType() string { return "terminal/commandFinished" }

// ActionType implements Action.
func (*ChangesetStatusChanged) ActionType() string { return "changeset/statusChanged" }

// ActionType implements Action.
func (*ChangesetFileSet) ActionType() string { return "changeset/fileSet" }

// ActionType implements Action.
func (*ChangesetFileRemoved) ActionType() string { return "changeset/fileRemoved" }

// ActionType implements Action.
func (*ChangesetFilesReviewChanged) ActionType() string { return "changeset/filesReviewChanged" }

// ActionType implements Action.
func (*ChangesetContentChanged) ActionType() string { return "changeset/contentChanged" }

// ActionType implements Action.
func (*ChangesetOperationsChanged) ActionType() string { return "changeset/operationsChanged" }

// ActionType implements Action.
func (*ChangesetOperationStatusChanged) ActionType() string {
	return "changeset/operationStatusChanged"
}

// ActionType implements Action.
func (*ChangesetCleared) ActionType() string { return "changeset/cleared" }

// ActionType implements Action.
func (*AnnotationsSet) ActionType() string { return "annotations/set" }

// ActionType implements Action.
func (*AnnotationsUpdated) ActionType() string { return "annotations/updated" }

// ActionType implements Action.
func (*AnnotationsRemoved) ActionType() string { return "annotations/removed" }

// ActionType implements Action.
func (*AnnotationsEntrySet) ActionType() string { return "annotations/entrySet" }

// ActionType implements Action.
func (*AnnotationsEntryRemoved) ActionType() string { return "annotations/entryRemoved" }

// ActionType implements Action.
func (*ResourceWatchChanged) ActionType() string { return "resourceWatch/changed" }

// ActionType implements Action.
func (*ClientServiceSet) ActionType() string { return "clientService/set" }

// ActionType implements Action.
func (*ClientServiceRemoved) ActionType() string { return "clientService/removed" }
