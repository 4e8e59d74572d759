package ahp_test

import (
	"fmt"

	"github.com/causeway-ahp/causeway/ahp"
)

func ExampleDecodeAction() {
	for _, raw := range []string{
		`{"type":"chat/delta","turnId":"t1","partId":"p1","content":"Hello"}`,
		`{"type":"future/thing","answer":42}`,
	} {
		a, err := ahp.DecodeAction([]byte(raw))
		if err != nil {
			fmt.Println(err)
			continue
		}
		switch a := a.(type) {
		case *ahp.ChatDelta:
			fmt.Println("delta for", a.PartID+":", a.Content)
		case *ahp.UnknownAction:
			fmt.Println("kept as it stands:", string(a.Raw))
		}
	}
	// Output:
	// delta for p1: Hello
	// kept as it stands: {"type":"future/thing","answer":42}
}

func ExampleStatus() {
	s := ahp.StatusInputNeeded | ahp.StatusIsRead
	fmt.Println(s.Has(ahp.StatusInProgress), s.Activity() == ahp.StatusInputNeeded)
	fmt.Println(s.WithActivity(ahp.StatusIdle).Has(ahp.StatusIsRead))
	// Output:
	// true true
	// true
}

func ExampleNegotiate() {
	version, _ := ahp.Negotiate([]string{"0.5.0", "1.0.0", "1.1.0", "2.0.0"})
	fmt.Println(version)
	// Output: 1.1.0
}
