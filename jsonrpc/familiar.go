package jsonrpc

import "bytes"

// familiar remembers how the last notification began. Peers repeat themselves: what
// comes in great number differs only in the last value of its params, as a payload
// that is relayed. What stands before that value was validated the first time; only
// the value is looked at again.
type familiar struct {
	head   []byte // up to the value; empty when there is nothing to go by
	method string
	params int // where the params begin in head
}

// maxFamiliarBytes bounds what is remembered.
const maxFamiliarBytes = 1024

// recognise reads into m a message that begins as the remembered one and ends right
// behind the value. It is false for any other, also a wrong one: Scan says what is
// wrong.
func (f *familiar) recognise(data []byte, m *Message) bool {
	if len(f.head) == 0 || !bytes.HasPrefix(data, f.head) {
		return false
	}
	c := checker{data: data, left: MaxValues - len(f.head)} // no value has less than a byte
	end := c.value(len(f.head), 2)
	if end != len(data)-2 || data[end] != '}' || data[end+1] != '}' {
		return false
	}
	*m = Message{
		Kind: KindNotification, Method: f.method,
		Params: data[f.params : end+1 : end+1], Last: len(f.head) - f.params,
	}
	return true
}

// learn remembers a notification that Scan has read.
func (f *familiar) learn(data []byte, m *Message) {
	f.head = f.head[:0]
	at := len(data) - 1 - len(m.Params) // if params is the last member, without spaces
	if m.Kind != KindNotification || m.Last == 0 || at+m.Last > maxFamiliarBytes || at < 0 || &data[at] != &m.Params[0] {
		return
	}
	f.head = append(f.head, data[:at+m.Last]...)
	f.method, f.params = m.Method, at
}
