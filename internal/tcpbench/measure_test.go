package tcpbench

import "testing"

func TestMeasuringADirectConnection(t *testing.T) {
	d, err := NewDestination()
	if err != nil {
		t.Fatal(err)
	}
	for _, streams := range []int{1, 3} {
		down, err := Download(t.Context(), d.Addr(), streams, 1<<20+1)
		if err != nil || down <= 0 {
			t.Errorf("download: %v, %v", down, err)
		}
		up, err := Upload(t.Context(), d.Addr(), streams, 1<<20+1)
		if err != nil || up <= 0 {
			t.Errorf("upload: %v, %v", up, err)
		}
	}
	times, err := FirstByte(t.Context(), d.Addr(), 5)
	if err != nil || len(times) != 5 || times[4] <= 0 {
		t.Errorf("first byte: %v, %v", times, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := FirstByte(t.Context(), d.Addr(), 1); err == nil {
		t.Error("a closed destination was measured")
	}
}
