package flow

import "testing"

func TestMemoryOfBoundaries(t *testing.T) {
	limits := Limits{WindowBytes: 4 << 20, MaxFrameBytes: 256 << 10}
	for _, size := range []int64{64, 127, 128, 180, 16383, 16384, 256 << 10} {
		w := NewWindow(limits)
		for w.CanStart() {
			if err := w.Charge(size); err != nil {
				t.Fatal(err)
			}
		}
		if got, most := int64(len(w.bounds.buf)), limits.Budget()/64+3; got > most {
			t.Errorf("messages of %d bytes: the list takes %d, want at most %d", size, got, most)
		}
		if _, err := w.Credit(w.Sent()); err != nil {
			t.Fatal(err)
		}
		if got := cap(w.bounds.buf); got > keepBytes {
			t.Errorf("messages of %d bytes: an idle window keeps %d bytes, want at most %d", size, got, keepBytes)
		}
	}
}

// A window that is never empty uses its buffer again instead of growing.
func TestBoundariesDoNotCreep(t *testing.T) {
	var b boundaries
	for range 10 {
		b.push(180)
	}
	for range 100_000 {
		b.push(180)
		sum, at := b.fit(180)
		if sum != 180 {
			t.Fatalf("fit = %d, want 180", sum)
		}
		b.dropTo(at)
	}
	if sum, _ := b.fit(1 << 40); sum != 10*180 {
		t.Errorf("the list holds %d bytes, want %d", sum, 10*180)
	}
	if cap(b.buf) > 128 {
		t.Errorf("ten messages take %d bytes", cap(b.buf))
	}
}
