package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Actions of one channel that were written together are kept as one block: under
// load a hundred records then cost a store one row. A block ends with a checksum
// of itself and of its channel's URI.

// blockVersion is the first byte of a block.
const blockVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is what stores keep beside texts that must read back as written. The
// channel is part of it, so that one channel's text never passes for another's.
func Checksum(channel string, text []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(channel), castagnoli), castagnoli, text)
}

// AppendBlock appends the actions of one channel as a block.
func AppendBlock(dst []byte, channel string, records []*Record) []byte {
	begin := len(dst)
	dst = append(dst, blockVersion)
	dst = binary.AppendUvarint(dst, uint64(len(records)))
	for _, r := range records {
		dst = binary.AppendUvarint(dst, r.Seq)
		dst = binary.AppendUvarint(dst, r.Origin.Lineage)
		dst = binary.AppendUvarint(dst, r.Origin.ClientSeq)
		dst = appendText(dst, []byte(r.Origin.ClientID))
		dst = appendText(dst, r.Body)
	}
	return binary.LittleEndian.AppendUint32(dst, Checksum(channel, dst[begin:]))
}

func appendText(dst, text []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// DecodeBlock returns the actions of a block. The error wraps ErrDamaged when
// they are not what was written; there are then no records. The records share
// the block's memory.
func DecodeBlock(channel string, block []byte) ([]*Record, error) {
	n := len(block) - 4
	if n < 2 || block[0] != blockVersion || binary.LittleEndian.Uint32(block[n:]) != Checksum(channel, block[:n]) {
		return nil, fmt.Errorf("block of %s: %w", channel, ErrDamaged)
	}
	r := reader{rest: block[1:n]}
	count := r.number()
	if count > uint64(n) { // each takes more than a byte
		return nil, fmt.Errorf("block of %s: %w", channel, ErrDamaged)
	}
	records := make([]*Record, 0, count)
	values := make([]Record, count)
	for i := range values {
		v := &values[i]
		*v = Record{Kind: Action, Channel: channel, Seq: r.number()}
		v.Origin.Lineage, v.Origin.ClientSeq = r.number(), r.number()
		v.Origin.ClientID = string(r.text())
		v.Body = r.text()
		records = append(records, v)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, fmt.Errorf("block of %s: %w", channel, ErrDamaged)
	}
	return records, nil
}

// reader takes a block apart. After a mistake it returns zero values.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) text() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	text := r.rest[:n:n]
	r.rest = r.rest[n:]
	return text
}
