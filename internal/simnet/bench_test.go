package simnet_test

import (
	"testing"

	"github.com/causeway-ahp/causeway/internal/simnet"
)

// BenchmarkWriteRead carries 4 KiB through an instant link.
func BenchmarkWriteRead(b *testing.B) {
	p := connect(b, simnet.Profile{})
	buf := make([]byte, 4096)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.near.Write(buf); err != nil {
			b.Fatal(err)
		}
		if _, err := p.far.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
