package measure

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234567: "1,234,567", 999: "999", 1000: "1,000"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestPercentiles(t *testing.T) {
	if got := Percentile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	samples := make([]time.Duration, 100)
	for i := range samples {
		samples[99-i] = time.Duration(i + 1)
	}
	for p, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := Percentile(samples, p); got != want {
			t.Errorf("Percentile(%v) = %d, want %d", p, got, want)
		}
	}
}

func TestAFigureIsTheMedianOfItsRounds(t *testing.T) {
	for _, test := range []struct {
		rounds Rounds
		want   Figure
	}{
		{nil, Figure{}},
		{Rounds{7}, Figure{Value: 7}},
		{Rounds{9, 1}, Figure{Value: 1, Rounds: 2, Low: 1, High: 9}},
		{Rounds{5, 100, 4}, Figure{Value: 5, Rounds: 3, Low: 4, High: 100}},
	} {
		if got := (Figure{}).Over(test.rounds); got != test.want {
			t.Errorf("over %v: %+v, want %+v", test.rounds, got, test.want)
		}
	}
}

func TestGoalsAreJudged(t *testing.T) {
	for _, test := range []struct {
		goal         Goal
		value, ratio float64
		want         Verdict
	}{
		{"<= 5 us", 5, 0, Met},
		{"<= 5 us", 5.01, 0, Missed},
		{"<= 2,000 us", 1999, 0, Met},
		{">= 100,000", 99_999, 0, Missed},
		{">= 1.3 x", 1, 1.3, Met},
		{">= 1.0 x ssh", 1000, 0.99, Missed},
		{"<= 1.0 x", 1000, 0.96, Met},
		{">= 1.3 x", 1e9, 0, Open},
		{"", 1, 1, Open},
		{"fast", 1, 1, Open},
		{"<= many", 1, 1, Open},
	} {
		f := Figure{Goal: test.goal, Value: test.value, Ratio: test.ratio}
		if got := f.Verdict(); got != test.want {
			t.Errorf("%q of %v, ratio %v: %q, want %q", test.goal, test.value, test.ratio, got, test.want)
		}
	}
}

func example() *Report {
	r := NewReport("v1")
	r.Section("Ports")
	r.Add(Figure{Name: "throughput", Unit: "MB/s", Goal: ">= 1.0 x ssh"}.Over(Rounds{800, 812, 900}).Beside("ssh -L", nil, "not installed"))
	r.Section("Relay")
	r.Add(Figure{Name: "relay", Unit: "/s", Goal: ">= 1.2 x"}.Over(Rounds{1234567}).Beside("NATS", Rounds{1e6, 1, 1e7}, ""))
	r.Section("Ports")
	r.Add(Figure{Name: "first byte", Value: 3, Unit: "ms", Goal: "<= 2 ms"})
	return r
}

func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		_, rest, found := strings.Cut(text, part)
		if !found {
			t.Errorf("%q is missing, or not in its place, in:\n%s", part, text)
			return
		}
		text = rest
	}
}

func TestATableNamesMissingPeers(t *testing.T) {
	var b strings.Builder
	if err := example().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	want(t, b.String(), "v1", "throughput", "812 MB/s", "ssh -L: not installed", "800 to 900 in 3 rounds",
		"1,234,567 /s", "met", "1.23 x NATS (1,000,000)", "first byte", "missed")
}

func TestAPageHasASectionForEachGroup(t *testing.T) {
	var b strings.Builder
	r := example()
	if err := r.WritePage(&b, Page{Command: "causeway bench", Quick: true}); err != nil {
		t.Fatal(err)
	}
	want(t, b.String(), "# Benchmarks", "## "+r.Date, "v1", "`causeway bench`", "A quick run", "| Processor |", "| Memory |", "| Go | go1.", "| Load",
		"### Ports", "throughput", "first byte", "### Relay", "relay")
}

func TestAReportTravelsAsLines(t *testing.T) {
	if _, err := exec.LookPath("cat"); err != nil {
		t.Skip("no cat here")
	}
	var lines strings.Builder
	sent := example()
	if err := sent.WriteJSON(&lines); err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), "cat")
	program.Stdin = strings.NewReader(lines.String())
	got := NewReport("v2")
	version, err := got.Collect(program)
	if err != nil || version != "v1" || len(got.Figures) != 3 {
		t.Fatalf("%v, version %s, %d figures", err, version, len(got.Figures))
	}
	for i, f := range got.Figures {
		sent.Figures[i].Judged = sent.Figures[i].Verdict()
		if *f != *sent.Figures[i] {
			t.Errorf("got %+v, want %+v", f, sent.Figures[i])
		}
	}
	program = exec.CommandContext(t.Context(), "cat")
	program.Stdin = strings.NewReader("no report\n")
	if _, err := got.Collect(program); err == nil {
		t.Error("something that is no report was collected")
	}
}

func TestThisMachineIsDescribed(t *testing.T) {
	m := ThisMachine()
	if m.Cores < 1 || m.Go == "" || m.System == "" || m.MemoryBytes == 0 {
		t.Errorf("%+v", m)
	}
	if now := MemoryNow(); now.InUse() == 0 || now.Resident < now.Stacks {
		t.Errorf("%+v", now)
	}
}
