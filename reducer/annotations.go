package reducer

import "github.com/causeway-ahp/causeway/ahp"

// Annotations reduces an action of an annotations channel (AHP channels, 3.1).
// It returns s itself if the action changes nothing.
func Annotations(s *ahp.AnnotationsState, a ahp.Action) *ahp.AnnotationsState {
	switch a := a.(type) {
	case *ahp.AnnotationsSet:
		id := a.Annotation.ID
		return withAnnotations(s, upsert(s.Annotations, a.Annotation, isAnnotation(id)))
	case *ahp.AnnotationsUpdated:
		return editAnnotation(s, a.AnnotationID, a, updateAnnotation)
	case *ahp.AnnotationsRemoved:
		rest, removed := without(s.Annotations, isAnnotation(a.AnnotationID))
		if !removed {
			return s
		}
		return withAnnotations(s, rest)
	case *ahp.AnnotationsEntrySet:
		return editAnnotation(s, a.AnnotationID, a, setEntry)
	case *ahp.AnnotationsEntryRemoved:
		return editAnnotation(s, a.AnnotationID, a, removeEntry)
	}
	return s
}

func withAnnotations(s *ahp.AnnotationsState, list []ahp.Annotation) *ahp.AnnotationsState {
	c := *s
	c.Annotations = list
	return &c
}

// editAnnotation lets edit change a copy of the annotation id; edit reports
// whether it did.
func editAnnotation[A any](s *ahp.AnnotationsState, id string, a A, edit func(*ahp.Annotation, A) bool) *ahp.AnnotationsState {
	i := index(s.Annotations, isAnnotation(id))
	if i < 0 {
		return s
	}
	n := s.Annotations[i]
	if !edit(&n, a) {
		return s
	}
	return withAnnotations(s, replaced(s.Annotations, i, n))
}

// updateAnnotation writes the members that are present; none can be cleared.
func updateAnnotation(n *ahp.Annotation, a *ahp.AnnotationsUpdated) bool {
	if a.Origin != nil {
		n.Origin = a.Origin
	}
	if a.TurnID != nil {
		n.TurnID = a.TurnID
	}
	if a.Resource != nil {
		n.Resource = *a.Resource
	}
	if a.Range != nil {
		n.Range = a.Range
	}
	if a.Resolved != nil {
		n.Resolved = *a.Resolved
	}
	return true
}

func setEntry(n *ahp.Annotation, a *ahp.AnnotationsEntrySet) bool {
	n.Entries = upsert(n.Entries, a.Entry, isEntry(a.Entry.ID))
	return true
}

// removeEntry may remove the last entry: that producers send
// annotations/removed instead is their duty (AHP channels, 3.1).
func removeEntry(n *ahp.Annotation, a *ahp.AnnotationsEntryRemoved) (removed bool) {
	n.Entries, removed = without(n.Entries, isEntry(a.EntryID))
	return removed
}

func isAnnotation(id string) func(*ahp.Annotation) bool {
	return func(n *ahp.Annotation) bool { return n.ID == id }
}

func isEntry(id string) func(*ahp.AnnotationEntry) bool {
	return func(e *ahp.AnnotationEntry) bool { return e.ID == id }
}
