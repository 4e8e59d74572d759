package reconcile_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/reconcile"
	"github.com/causeway-ahp/causeway/reducer"
	"pgregory.net/rapid"
)

// The tests here hold one rule of AHP core, 7 each, or one report of what broke
// elsewhere. The channel is a session, whose title and flags are easy to see.

const me = "me"

func session(title string) *ahp.SessionState {
	s := reducer.New(ahp.KindSession).(*ahp.SessionState)
	s.Title = title
	return s
}

func title(s string) ahp.Action { return &ahp.SessionTitleChanged{Title: s} }

func read(on bool) ahp.Action { return &ahp.SessionIsReadChanged{IsRead: on} }

func titleOf(state any) string { return state.(*ahp.SessionState).Title }

func isRead(state any) bool { return state.(*ahp.SessionState).Status.Has(ahp.StatusIsRead) }

// begin returns a machine at sequence 10 with the actions dispatched and written
// as clientSeq 1, 2, ...
func begin(actions ...ahp.Action) *reconcile.Channel {
	c := reconcile.New(me, session("old"), 10)
	for i, a := range actions {
		seq := uint64(i + 1)
		c.Dispatch(seq, a, nil)
		c.Written(seq)
	}
	return c
}

func foreign(seq uint64, a ahp.Action) reconcile.Envelope {
	return reconcile.Envelope{ServerSeq: seq, Action: a}
}

func echo(seq, clientSeq uint64, a ahp.Action) reconcile.Envelope {
	return reconcile.Envelope{ServerSeq: seq, Action: a, Origin: ahp.Origin{ClientID: me, ClientSeq: clientSeq}}
}

func rejection(seq, clientSeq uint64, a ahp.Action) reconcile.Envelope {
	e := echo(seq, clientSeq, a)
	e.Rejected, e.Reason = true, "no"
	return e
}

func wantTitles(t *testing.T, c *reconcile.Channel, confirmed, optimistic string) {
	t.Helper()
	if got := titleOf(c.Confirmed()); got != confirmed {
		t.Errorf("confirmed title = %q, want %q", got, confirmed)
	}
	if got := titleOf(c.Optimistic()); got != optimistic {
		t.Errorf("optimistic title = %q, want %q", got, optimistic)
	}
}

// receive gives an envelope to the machine and compares what it reports.
func receive(t *testing.T, c *reconcile.Channel, e reconcile.Envelope, kind reconcile.Kind, outcomes ...reconcile.Outcome) {
	t.Helper()
	k, got := c.Receive(e)
	if k != kind {
		t.Errorf("envelope %d is %v, want %v", e.ServerSeq, k, kind)
	}
	wantOutcomes(t, got, outcomes...)
}

func wantOutcomes(t *testing.T, got []reconcile.Outcome, want ...reconcile.Outcome) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("outcomes = %v, want %v", got, want)
	}
}

func confirmed(seq uint64) reconcile.Outcome {
	return reconcile.Outcome{ClientSeq: seq, Result: reconcile.Confirmed}
}

func rejected(seq uint64) reconcile.Outcome {
	return reconcile.Outcome{ClientSeq: seq, Result: reconcile.Rejected, Reason: "no"}
}

func unknown(seq uint64) reconcile.Outcome {
	return reconcile.Outcome{ClientSeq: seq, Result: reconcile.Unknown}
}

func unsent(seq uint64) reconcile.Outcome {
	return reconcile.Outcome{ClientSeq: seq, Result: reconcile.Unsent}
}

func TestOwnActionShowsAtOnce(t *testing.T) {
	c := begin(title("mine"))
	wantTitles(t, c, "old", "mine")
}

func TestEchoIsReducedNotTheLocalCopy(t *testing.T) {
	c := begin(title("mine"))
	receive(t, c, echo(11, 1, title("mine, as the host has it")), reconcile.Own, confirmed(1))
	wantTitles(t, c, "mine, as the host has it", "mine, as the host has it")
}

func TestRejectionIsNotReduced(t *testing.T) {
	c := begin(title("mine"))
	receive(t, c, rejection(11, 1, title("mine")), reconcile.Refused, rejected(1))
	wantTitles(t, c, "old", "old")
	if c.Applied() != 11 {
		t.Errorf("applied = %d, want 11", c.Applied())
	}
}

func TestForeignRejectionIsIgnored(t *testing.T) {
	c := begin(title("mine"))
	e := rejection(11, 1, title("theirs"))
	e.Origin.ClientID = "someone else"
	receive(t, c, e, reconcile.Ignored)
	wantTitles(t, c, "old", "mine")
}

func TestPendingIsRebasedOnForeignAction(t *testing.T) {
	c := begin(title("mine"), read(true))
	receive(t, c, foreign(11, title("theirs")), reconcile.Foreign)
	wantTitles(t, c, "theirs", "mine")
	if !isRead(c.Optimistic()) || isRead(c.Confirmed()) {
		t.Error("the second pending action was lost in the rebase")
	}
}

func TestEchoBehindTheHeadEndsEarlierOnesAsUnknown(t *testing.T) {
	c := begin(title("lost"), read(true), title("kept"))
	receive(t, c, echo(11, 2, read(true)), reconcile.Own, unknown(1), confirmed(2))
	wantTitles(t, c, "old", "kept")
}

func TestRejectionBehindTheHeadEndsEarlierOnesAsUnknown(t *testing.T) {
	c := begin(title("lost"), title("refused"))
	receive(t, c, rejection(11, 2, title("refused")), reconcile.Refused, unknown(1), rejected(2))
	wantTitles(t, c, "old", "old")
}

func TestOwnOriginWithoutPendingIsForeign(t *testing.T) {
	c := begin()
	receive(t, c, echo(11, 7, title("from before")), reconcile.Foreign)
	wantTitles(t, c, "from before", "from before")
}

func TestWhatNeverLeftCannotBeEchoed(t *testing.T) {
	c := begin()
	c.Dispatch(1, title("unwritten"), nil)
	receive(t, c, echo(11, 1, title("another process with this id")), reconcile.Foreign)
	wantTitles(t, c, "another process with this id", "unwritten")
	if c.Len() != 1 {
		t.Errorf("%d pending, want 1", c.Len())
	}
}

func TestOldNumbersAreIgnored(t *testing.T) {
	c := begin()
	for _, seq := range []uint64{1, 10} {
		receive(t, c, foreign(seq, title("old news")), reconcile.Ignored)
	}
	wantTitles(t, c, "old", "old")
}

func TestOldEchoStillEndsItsDispatch(t *testing.T) {
	c := begin(title("mine"))
	receive(t, c, foreign(12, title("theirs")), reconcile.Foreign)
	receive(t, c, echo(11, 1, title("mine")), reconcile.Own, confirmed(1))
	wantTitles(t, c, "theirs", "theirs")
}

func TestUnknownActionAdvancesAndPops(t *testing.T) {
	future := &ahp.UnknownAction{Type: "session/fromTheFuture"}
	c := begin(future)
	before := c.Confirmed()
	receive(t, c, echo(11, 1, future), reconcile.Own, confirmed(1))
	if c.Confirmed() != before || c.Applied() != 11 || c.Len() != 0 {
		t.Errorf("applied %d, %d pending, state changed: %v", c.Applied(), c.Len(), c.Confirmed() != before)
	}
}

func TestReplayEndsWhatItDoesNotShow(t *testing.T) {
	c := begin(title("applied"), read(true))
	c.Dispatch(3, title("queued while away"), nil)
	receive(t, c, echo(11, 1, title("applied")), reconcile.Own, confirmed(1))
	wantOutcomes(t, c.Replayed(), unknown(2))
	wantTitles(t, c, "applied", "queued while away")
	if isRead(c.Optimistic()) {
		t.Error("a cleared action still shows")
	}
}

func TestSnapshotEndsWhatWasWritten(t *testing.T) {
	c := begin(title("written"))
	c.Dispatch(2, title("queued while away"), nil)
	wantOutcomes(t, c.Reset(session("fresh"), 99), unknown(1))
	wantTitles(t, c, "fresh", "queued while away")
	if c.Applied() != 99 {
		t.Errorf("applied = %d, want 99", c.Applied())
	}
}

func TestSnapshotOnALivingConnectionKeepsWhatIsUnderWay(t *testing.T) {
	c := begin(title("written"))
	c.Rebase(session("fresh"), 20)
	wantTitles(t, c, "fresh", "written")
	receive(t, c, echo(21, 1, title("written")), reconcile.Own, confirmed(1))
	wantTitles(t, c, "written", "written")
}

// A host that counts anew has smaller numbers; a snapshot of it starts over.
func TestSnapshotMayGoBackInNumbers(t *testing.T) {
	c := begin()
	c.Reset(session("fresh"), 2)
	receive(t, c, foreign(3, title("new life")), reconcile.Foreign)
	wantTitles(t, c, "new life", "new life")
}

func TestSecondLossDuringTheDrainClearsOnlyWhatWasWritten(t *testing.T) {
	c := begin()
	for seq := uint64(1); seq <= 3; seq++ {
		c.Dispatch(seq, title(fmt.Sprint(seq)), nil)
	}
	c.Written(1)
	wantOutcomes(t, c.Replayed(), unknown(1))
	c.Written(2)
	wantOutcomes(t, c.Replayed(), unknown(2))
	wantTitles(t, c, "old", "3")
}

func TestRemovedChannelEndsEverything(t *testing.T) {
	c := begin(title("written"))
	c.Dispatch(2, title("not written"), nil)
	wantOutcomes(t, c.Remove(), unknown(1), unsent(2))
	wantTitles(t, c, "old", "old")
}

// Cases 100 and 101: one identity links optimistic entry and echo; equal content
// of somebody else does not.
func TestEqualContentOfTwoClientsStaysTwoEntries(t *testing.T) {
	c := reconcile.New(me, reducer.New(ahp.KindChat), 0)
	mine := &ahp.ChatPendingMessageSet{Kind: ahp.PendingQueued, ID: "m1", Message: ahp.UserMessage("same")}
	theirs := &ahp.ChatPendingMessageSet{Kind: ahp.PendingQueued, ID: "m2", Message: ahp.UserMessage("same")}
	c.Dispatch(1, mine, nil)
	c.Written(1)
	steps := []struct {
		e    reconcile.Envelope
		want int // messages in the queue afterwards
	}{
		{foreign(1, &ahp.ChatActivityChanged{}), 1},
		{reconcile.Envelope{ServerSeq: 2, Action: theirs, Origin: ahp.Origin{ClientID: "them", ClientSeq: 1}}, 2},
		{echo(3, 1, mine), 2},
		{foreign(4, &ahp.ChatActivityChanged{}), 2},
	}
	for _, s := range steps {
		c.Receive(s.e)
		if got := len(c.Optimistic().(*ahp.ChatState).QueuedMessages); got != s.want {
			t.Errorf("after %d: %d queued, want %d", s.e.ServerSeq, got, s.want)
		}
	}
}

// Case 105: rejecting any subset equals never having sent it, after each answer
// and in the end.
func TestRejectedSubsetEqualsNeverSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "actions")
		actions := make([]ahp.Action, n)
		refused := make([]bool, n)
		all := reconcile.New(me, reducer.New(ahp.KindChat), 0)
		for i := range n {
			actions[i], refused[i] = action(t), rapid.Bool().Draw(t, "rejected")
			all.Dispatch(uint64(i+1), actions[i], nil)
			all.Written(uint64(i + 1))
		}
		for answered := range n {
			seq := uint64(answered + 1)
			if refused[answered] {
				all.Receive(rejection(seq, seq, actions[answered]))
			} else {
				all.Receive(echo(seq, seq, actions[answered]))
			}
			var confirmed, optimistic any = reducer.New(ahp.KindChat), nil
			for i, a := range actions[:answered+1] {
				if !refused[i] {
					confirmed = reducer.Apply(confirmed, a)
				}
			}
			optimistic = confirmed
			for _, a := range actions[answered+1:] {
				optimistic = reducer.Apply(optimistic, a)
			}
			wantText(t, "confirmed", all.Confirmed(), confirmed)
			wantText(t, "optimistic", all.Optimistic(), optimistic)
		}
	})
}

func wantText(t *rapid.T, what string, got, want any) {
	if g, w := text(t, got), text(t, want); g != w {
		t.Fatalf("%s\n got %s\nwant %s", what, g, w)
	}
}

// Case 105, the report itself: the middle one of three is refused.
func TestMiddleRejectionLeavesItsNeighbours(t *testing.T) {
	c := begin(title("a1"), read(true), title("c3"))
	receive(t, c, echo(11, 1, title("a1")), reconcile.Own, confirmed(1))
	receive(t, c, rejection(12, 2, read(true)), reconcile.Refused, rejected(2))
	wantTitles(t, c, "a1", "c3")
	if isRead(c.Optimistic()) {
		t.Error("the refused action still shows")
	}
}

// Case 107: a foreign commit between two pending updates of one record.
func TestForeignCommitWipesNoPendingUpdate(t *testing.T) {
	c := begin(title("mine"), read(true))
	receive(t, c, foreign(11, &ahp.SessionActivityChanged{Activity: new("theirs")}), reconcile.Foreign)
	s := c.Optimistic().(*ahp.SessionState)
	if s.Title != "mine" || !isRead(s) || s.Activity == nil || *s.Activity != "theirs" {
		t.Errorf("title %q, read %v, activity %v; want all three", s.Title, isRead(s), s.Activity)
	}
}

// Case 110: a pending action that no longer applies is skipped, no more.
func TestPendingThatNoLongerAppliesIsSkipped(t *testing.T) {
	c := reconcile.New(me, reducer.New(ahp.KindChat), 0)
	set := func(id string) ahp.Action {
		return &ahp.ChatPendingMessageSet{Kind: ahp.PendingQueued, ID: id, Message: ahp.UserMessage(id)}
	}
	c.Receive(foreign(1, set("a")))
	c.Receive(foreign(2, set("b")))
	c.Dispatch(1, &ahp.ChatQueuedMessagesReordered{Order: []string{"b", "a"}}, nil)
	c.Dispatch(2, &ahp.ChatDraftChanged{Draft: ahp.UserMessage("draft")}, nil)
	c.Receive(foreign(3, &ahp.ChatPendingMessageRemoved{Kind: ahp.PendingQueued, ID: "b"}))
	s := c.Optimistic().(*ahp.ChatState)
	if len(s.QueuedMessages) != 1 || s.QueuedMessages[0].ID != "a" || s.Draft == nil || c.Len() != 2 {
		t.Errorf("queue %v, draft %v, %d pending", s.QueuedMessages, s.Draft, c.Len())
	}
}

// Case 111: two writes of one field, rolled back in both orders.
func TestRollbackOfTwoWritesInBothOrders(t *testing.T) {
	t.Run("second, then first", func(t *testing.T) {
		c := begin(title("1"))
		c.Dispatch(2, title("2"), nil)
		wantTitles(t, c, "old", "2")
		c.Written(2)
		// The answers come in order; the first one is confirmed here.
		receive(t, c, echo(11, 1, title("1")), reconcile.Own, confirmed(1))
		receive(t, c, rejection(12, 2, title("2")), reconcile.Refused, rejected(2))
		wantTitles(t, c, "1", "1")
	})
	t.Run("first, then second", func(t *testing.T) {
		c := begin(title("1"), title("2"))
		receive(t, c, rejection(11, 1, title("1")), reconcile.Refused, rejected(1))
		wantTitles(t, c, "old", "2")
		receive(t, c, rejection(12, 2, title("2")), reconcile.Refused, rejected(2))
		wantTitles(t, c, "old", "old")
	})
}

// AHP core, 7, "Turn idempotency": a start that comes again resets nothing.
func TestRepeatedTurnStartDoesNotResetTheTurn(t *testing.T) {
	start := &ahp.ChatTurnStarted{TurnID: "t", StartedAt: "2026-10-01T00:00:00.000Z", Message: ahp.UserMessage("go")}
	c := reconcile.New(me, reducer.New(ahp.KindChat), 0)
	c.Dispatch(1, start, nil)
	c.Written(1)
	c.Receive(foreign(1, start)) // the host had it from an earlier life of this client
	c.Receive(foreign(2, &ahp.ChatResponsePart{TurnID: "t", Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}}))
	c.Receive(foreign(3, &ahp.ChatDelta{TurnID: "t", PartID: "p", Content: "text"}))
	s := c.Optimistic().(*ahp.ChatState)
	if s.ActiveTurn == nil || s.ActiveTurn.ResponseParts.Len() != 1 {
		t.Fatalf("active turn %+v, want its part kept", s.ActiveTurn)
	}
}

// What is reduced on top instead of underneath must come to the same.
func TestStreamedActionsCommuteWithWhatIsBesideTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := reconcile.New(me, reducer.New(ahp.KindChat), 0)
		c.Receive(foreign(1, &ahp.ChatTurnStarted{TurnID: "a", StartedAt: "2026-10-01T00:00:00.000Z", Message: ahp.UserMessage("go")}))
		c.Receive(foreign(2, &ahp.ChatResponsePart{TurnID: "a", Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}}))
		c.Receive(foreign(3, &ahp.ChatToolCallStart{ToolCallRef: ahp.ToolCallRef{TurnID: "a", ToolCallID: "call"}}))
		for seq := range uint64(rapid.IntRange(0, 4).Draw(t, "pending")) {
			c.Dispatch(seq+1, action(t), nil)
		}
		for seq := range uint64(rapid.IntRange(1, 6).Draw(t, "streamed")) {
			c.Receive(foreign(seq+4, streamed(t)))
			want := c.Confirmed()
			for _, e := range c.Pending() {
				want = reducer.Apply(want, e.Action)
			}
			wantText(t, "optimistic", c.Optimistic(), want)
		}
	})
}

func streamed(t *rapid.T) ahp.Action {
	ref := ahp.ToolCallRef{TurnID: "a", ToolCallID: "call"}
	return rapid.SampledFrom([]ahp.Action{
		&ahp.ChatDelta{TurnID: "a", PartID: "p", Content: "x"},
		&ahp.ChatReasoning{TurnID: "a", PartID: "p", Content: "x"},
		&ahp.ChatUsage{TurnID: "a", Usage: &ahp.UsageInfo{}},
		&ahp.ChatToolCallDelta{ToolCallRef: ref, Content: new("x")},
		&ahp.ChatToolCallContentChanged{ToolCallRef: ref, Content: []ahp.ToolResultContent{ahp.TextContent("x")}},
	}).Draw(t, "streamed")
}

func TestEchoWordForWordLeavesTheOptimisticStateAlone(t *testing.T) {
	c := reconcile.New(me, session("old"), 10)
	for seq, a := range []ahp.Action{title("first"), read(true)} {
		c.Dispatch(uint64(seq+1), a, encoded(a))
		c.Written(uint64(seq + 1))
	}
	before := c.Optimistic()
	e := echo(11, 1, title("first"))
	e.Body = encoded(title("first"))
	receive(t, c, e, reconcile.Own, confirmed(1))
	if c.Optimistic() != before {
		t.Error("the optimistic state was derived anew")
	}
	wantTitles(t, c, "first", "first")
}
