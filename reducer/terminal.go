package reducer

import "github.com/causeway-ahp/causeway/ahp"

// Terminal reduces an action of a terminal channel (AHP channels, 2.4). It
// returns s itself if the action changes nothing, as terminal/input always does:
// what was typed is no output.
func Terminal(s *ahp.TerminalState, a ahp.Action) *ahp.TerminalState {
	switch a := a.(type) {
	case *ahp.TerminalData:
		return terminalOutput(s, a.Data)
	case *ahp.TerminalCommandFinished:
		return finishCommand(s, a)
	}
	c := *s
	switch a := a.(type) {
	case *ahp.TerminalResized:
		c.Cols, c.Rows = &a.Cols, &a.Rows
	case *ahp.TerminalClaimed:
		c.Claim = a.Claim
	case *ahp.TerminalTitleChanged:
		c.Title = a.Title
	case *ahp.TerminalCWDChanged:
		c.CWD = &a.CWD
	case *ahp.TerminalExitedAction:
		c.Lifecycle = &ahp.TerminalLifecycle{Status: ahp.TerminalExited, ExitCode: a.ExitCode}
	case *ahp.TerminalCleared:
		c.Content = ahp.NewList[*ahp.TerminalPart]()
	case *ahp.TerminalCommandDetectionAvailable:
		c.SupportsCommandDetection = new(true)
	case *ahp.TerminalCommandExecuted:
		c.Content = s.Content.Append(openCommand(a))
		c.SupportsCommandDetection = new(true)
	default:
		return s
	}
	return &c
}

// terminalOutput appends to the last part if it can take output, which is the
// path of every chunk a process writes, and else opens an unclassified part.
func terminalOutput(s *ahp.TerminalState, data string) *ahp.TerminalState {
	c := *s
	last := s.Content.Len() - 1
	if last < 0 {
		c.Content = s.Content.Append(unclassified(data))
		return &c
	}
	p := *s.Content.At(last)
	switch {
	case p.Type == ahp.TerminalUnclassified:
		p.Value = p.Value.Append(data)
	case isOpen(&p):
		p.Output = p.Output.Append(data)
	default:
		c.Content = s.Content.Append(unclassified(data))
		return &c
	}
	c.Content = s.Content.Set(last, &p)
	return &c
}

func unclassified(data string) *ahp.TerminalPart {
	return &ahp.TerminalPart{Type: ahp.TerminalUnclassified, Value: ahp.NewText(data)}
}

func isOpen(p *ahp.TerminalPart) bool {
	return p.Type == ahp.TerminalCommand && (p.IsComplete == nil || !*p.IsComplete)
}

func openCommand(a *ahp.TerminalCommandExecuted) *ahp.TerminalPart {
	return &ahp.TerminalPart{
		Type: ahp.TerminalCommand, CommandID: &a.CommandID, CommandLine: &a.CommandLine,
		Output: ahp.NewText(""), Timestamp: &a.Timestamp, IsComplete: new(false),
	}
}

// finishCommand completes every command with the id. The first is found by its
// key; it is nearly always the last part.
func finishCommand(s *ahp.TerminalState, a *ahp.TerminalCommandFinished) *ahp.TerminalState {
	first, ok := s.Content.Find(a.CommandID)
	if !ok {
		return s
	}
	content, changed := s.Content, false
	for i := first; i < content.Len(); i++ {
		p := content.At(i)
		if p.Type != ahp.TerminalCommand || p.Key() != a.CommandID {
			continue
		}
		done := *p
		done.IsComplete, done.ExitCode, done.DurationMS = new(true), a.ExitCode, a.DurationMS
		content, changed = content.Set(i, &done), true
	}
	if !changed {
		return s
	}
	c := *s
	c.Content = content
	return &c
}
