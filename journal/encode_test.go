package journal

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func blockOfTwo() (records []*Record, block []byte) {
	records = []*Record{
		{Seq: 1, Kind: Action, Channel: "c", Body: []byte(`{"type":"x"}`)},
		{Seq: 1 << 40, Kind: Action, Channel: "c", Body: []byte(`{}`), Origin: Origin{ClientID: "é", ClientSeq: 3, Lineage: 9}},
	}
	return records, AppendBlock([]byte("before"), "c", records)[len("before"):]
}

func TestBlockRoundTrip(t *testing.T) {
	records, block := blockOfTwo()
	got, err := DecodeBlock("c", block)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, got); diff != "" {
		t.Error(diff)
	}
}

// TestDamagedBlock: every changed bit and every cut is noticed, and so is the
// block of another channel.
func TestDamagedBlock(t *testing.T) {
	_, block := blockOfTwo()
	for i := range block {
		for bit := range 8 {
			bad := append([]byte(nil), block...)
			bad[i] ^= 1 << bit
			if got, err := DecodeBlock("c", bad); !errors.Is(err, ErrDamaged) || got != nil {
				t.Fatalf("bit %d of byte %d: %d records, %v", bit, i, len(got), err)
			}
		}
		if got, err := DecodeBlock("c", block[:i]); !errors.Is(err, ErrDamaged) || got != nil {
			t.Fatalf("cut at %d: %d records, %v", i, len(got), err)
		}
	}
	if _, err := DecodeBlock("d", block); !errors.Is(err, ErrDamaged) {
		t.Errorf("as another channel's: %v", err)
	}
}

// FuzzRecord: a block is read as it was written or not at all.
func FuzzRecord(f *testing.F) {
	_, block := blockOfTwo()
	f.Add(block, true)
	f.Add(block, false)
	f.Add(block[:10], true)
	f.Add(AppendBlock(nil, "c", nil), false)
	f.Fuzz(func(t *testing.T, data []byte, sum bool) {
		if sum { // let it through to what is behind the checksum
			data = append([]byte{blockVersion}, data...)
			s := Checksum("c", data)
			data = append(data, byte(s), byte(s>>8), byte(s>>16), byte(s>>24))
		}
		records, err := DecodeBlock("c", data)
		if err != nil {
			if records != nil || !errors.Is(err, ErrDamaged) {
				t.Fatalf("%d records with %v", len(records), err)
			}
			return
		}
		again, err := DecodeBlock("c", AppendBlock(nil, "c", records))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(records, again); diff != "" {
			t.Error(diff)
		}
	})
}
