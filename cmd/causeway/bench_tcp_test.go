package main

import (
	"testing"

	"github.com/causeway-ahp/causeway/internal/tcpbench"
)

func newTunnel(t testing.TB) *tunnel {
	t.Helper()
	u, err := openTunnel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.close(); err != nil {
			t.Error(err)
		}
	})
	return u
}

func TestMeasuringATunnel(t *testing.T) {
	u := newTunnel(t)
	if _, err := tcpbench.Download(t.Context(), u.addr(), 2, 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := tcpbench.Upload(t.Context(), u.addr(), 2, 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := tcpbench.FirstByte(t.Context(), u.addr(), 5); err != nil {
		t.Error(err)
	}
}

func BenchmarkTunnelDown(b *testing.B) {
	u := newTunnel(b)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := tcpbench.Download(b.Context(), u.addr(), 1, int64(b.N)<<20); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkTunnelUp(b *testing.B) {
	u := newTunnel(b)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := tcpbench.Upload(b.Context(), u.addr(), 1, int64(b.N)<<20); err != nil {
		b.Fatal(err)
	}
}
