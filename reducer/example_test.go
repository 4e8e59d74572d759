package reducer_test

import (
	"fmt"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/reducer"
)

func ExampleApply() {
	state := reducer.New(ahp.KindChat)
	for _, raw := range []string{
		`{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-10-01T12:00:00.000Z","message":{"text":"hi","origin":{"kind":"user"}}}`,
		`{"type":"chat/responsePart","turnId":"t","part":{"kind":"markdown","id":"p","content":"Hel"}}`,
		`{"type":"chat/delta","turnId":"t","partId":"p","content":"lo"}`,
		`{"type":"chat/delta","turnId":"another turn","partId":"p","content":"?"}`,
		`{"type":"chat/turnComplete","turnId":"t","duration":1500}`,
	} {
		action, err := ahp.DecodeAction([]byte(raw))
		if err != nil {
			fmt.Println(err)
			return
		}
		next := reducer.Apply(state, action)
		fmt.Println(action.ActionType(), "changed the state:", next != state)
		state = next
	}
	chat := state.(*ahp.ChatState)
	answer := chat.Turns.At(0).ResponseParts.At(0).Part.(*ahp.MarkdownPart)
	fmt.Println(answer.Content, chat.ModifiedAt)
	// Output:
	// chat/turnStarted changed the state: true
	// chat/responsePart changed the state: true
	// chat/delta changed the state: true
	// chat/delta changed the state: false
	// chat/turnComplete changed the state: true
	// Hello 2026-10-01T12:00:01.500Z
}
