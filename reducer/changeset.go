package reducer

import (
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
)

// Changeset reduces an action of a changeset channel (AHP channels, 2.5). It
// returns s itself if the action changes nothing.
func Changeset(s *ahp.ChangesetState, a ahp.Action) *ahp.ChangesetState {
	c := *s
	changed := true
	switch a := a.(type) {
	case *ahp.ChangesetStatusChanged:
		c.Status, c.Error = a.Status, errorIf(a.Status == ahp.ChangesetError, a.Error)
	case *ahp.ChangesetFileSet:
		c.Files = upsert(s.Files, a.File, isFile(a.File.ID))
	case *ahp.ChangesetFileRemoved:
		c.Files, changed = without(s.Files, isFile(a.FileID))
	case *ahp.ChangesetFilesReviewChanged:
		c.Files, changed = reviewed(s.Files, a)
	case *ahp.ChangesetContentChanged:
		c.Files = a.Files
		if a.Operations != nil {
			c.Operations = a.Operations
		}
	case *ahp.ChangesetOperationsChanged:
		c.Operations = a.Operations
	case *ahp.ChangesetOperationStatusChanged:
		c.Operations, changed = operated(s.Operations, a)
	case *ahp.ChangesetCleared:
		c.Files, changed = nil, len(s.Files) > 0
	default:
		changed = false
	}
	if !changed {
		return s
	}
	return &c
}

// errorIf keeps an error beside the status error only.
func errorIf(failed bool, e *ahp.ErrorInfo) *ahp.ErrorInfo {
	if !failed {
		return nil
	}
	return e
}

// reviewed sets the flag of the named files. An absent flag differs from false,
// so false is written where there was none.
func reviewed(files []ahp.ChangesetFile, a *ahp.ChangesetFilesReviewChanged) (next []ahp.ChangesetFile, changed bool) {
	named := make(map[string]bool, len(a.Files))
	for _, id := range a.Files {
		named[id] = true
	}
	for i := range files {
		f := &files[i]
		if !named[f.ID] || f.Reviewed != nil && *f.Reviewed == a.Reviewed {
			continue
		}
		if !changed {
			next, changed = slices.Clone(files), true
		}
		next[i].Reviewed = &a.Reviewed
	}
	return next, changed
}

func operated(ops []ahp.ChangesetOperation, a *ahp.ChangesetOperationStatusChanged) (next []ahp.ChangesetOperation, changed bool) {
	i := index(ops, func(o *ahp.ChangesetOperation) bool { return o.ID == a.OperationID })
	if i < 0 {
		return ops, false
	}
	o := ops[i]
	o.Status, o.Error = a.Status, errorIf(a.Status == ahp.OperationError, a.Error)
	return replaced(ops, i, o), true
}

func isFile(id string) func(*ahp.ChangesetFile) bool {
	return func(f *ahp.ChangesetFile) bool { return f.ID == id }
}
