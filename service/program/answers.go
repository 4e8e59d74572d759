package program

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/causeway-ahp/causeway/agent/process"
)

// expect gives a call its id and its place among the lines to be answered, in the
// order in which they are written. A notification, whose answered is nil, has no
// id, and no place if the program answers with ids and so not at all.
func (p *Program) expect(answered chan<- answer) (id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered != nil {
		p.lastID++
		id = p.lastID
		p.calls[id] = answered
	}
	if !p.ids || id > 0 {
		p.placeLocked(id)
	}
	return id
}

func (p *Program) placeLocked(id uint64) {
	if len(p.order) >= maxUnanswered {
		if i := slices.Index(p.order, 0); i >= 0 {
			p.order = slices.Delete(p.order, i, i+1)
		}
	}
	p.order = append(p.order, id)
}

// takeLocked removes a call and its place; nil when there is none.
func (p *Program) takeLocked(id uint64) chan<- answer {
	answered := p.calls[id]
	delete(p.calls, id)
	if i := slices.Index(p.order, id); i >= 0 {
		p.order = slices.Delete(p.order, i, i+1)
	}
	return answered
}

// complete settles a call.
func (p *Program) complete(id uint64, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered := p.takeLocked(id); answered != nil {
		answered <- a // it has room for the one answer
	}
}

// answered settles what a line of the program answers.
func (p *Program) answered(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := a.id
	switch {
	case a.hasID && !p.ids:
		p.ids = true
		p.order = slices.DeleteFunc(p.order, func(id uint64) bool { return id == 0 })
	case !a.hasID && len(p.order) == 0:
		return // nobody asked
	case !a.hasID:
		id = p.order[0]
		p.order = p.order[1:]
	}
	if waiting := p.takeLocked(id); waiting != nil {
		waiting <- a
	}
}

// fail settles every call.
func (p *Program) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, waiting := range p.calls {
		waiting <- answer{err: err}
	}
	clear(p.calls)
	p.order, p.ids = nil, false
}

// readLoop reads the program's lines until its output ends.
func (p *Program) readLoop(child *process.Child) error {
	r := bufio.NewReaderSize(child, 64<<10)
	var long []byte // the beginning of a line that is longer than the buffer
	for {
		piece, err := r.ReadSlice('\n')
		if len(long)+len(piece) > MaxLineBytes {
			return errLineTooLong
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, piece...)
			continue
		case err == nil || errors.Is(err, io.EOF) && len(piece) > 0:
			p.line(append(long, piece...))
			long = nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *Program) line(text []byte) {
	if text = bytes.TrimSpace(text); len(text) > 0 {
		p.answered(readAnswer(bytes.Clone(text)))
	}
}
