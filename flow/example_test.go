package flow_test

import (
	"fmt"

	"github.com/causeway-ahp/causeway/flow"
)

// A message above the frame limit goes out in frames, each as soon as the window
// is open; the receiver's credit opens it again.
func Example() {
	limits := flow.Limits{WindowBytes: 1500, MaxFrameBytes: 1024}
	window, credit := flow.NewWindow(limits), flow.NewCredit(limits)
	join := flow.NewReassembler(1 << 20)

	text := make([]byte, 1200)
	for i := range text {
		text[i] = 'x'
	}
	frames, err := flow.NewFragmenter(text, envelope("ahp-chat:/c1"), limits.MaxFrameBytes)
	if err != nil {
		fmt.Println(err)
		return
	}
	for !frames.Done() {
		if !window.CanStart() {
			consumed, due := credit.Take()
			freed, err := window.Credit(consumed)
			fmt.Println("credit", consumed, due, "frees", freed, err)
		}
		frame, size := frames.AppendNext(nil)
		fmt.Println("frame", size, window.Charge(size), credit.Receive(size))
		piece, final := pieceOf(frame)
		msg, err := join.Add(piece, final)
		fmt.Println("piece", len(piece), len(msg), err, credit.Release(size))
	}
	// Output:
	// frame 998 <nil> <nil>
	// piece 411 0 <nil> <nil>
	// frame 998 <nil> <nil>
	// piece 411 0 <nil> <nil>
	// credit 1996 true frees 1996 <nil>
	// frame 958 <nil> <nil>
	// piece 378 1200 <nil> <nil>
}
