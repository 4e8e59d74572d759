package ahp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

var benchTextSizes = []int{0, 10 << 10, 2 << 20}

const benchDelta = "twelve bytes" // as long as a typical token

// BenchmarkTextAppend streams deltas into a text that already has a size. It
// starts again once 1 MB was added, so the size stays what it says.
func BenchmarkTextAppend(b *testing.B) {
	for _, size := range benchTextSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			base := NewText(strings.Repeat("x", size))
			text := base
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%80_000 == 0 {
					text = base
				}
				text = text.Append(benchDelta)
			}
		})
	}
}

// BenchmarkTextForkAppend loses the room to another text before every append.
func BenchmarkTextForkAppend(b *testing.B) {
	for _, size := range benchTextSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			base := NewText(strings.Repeat("x", size))
			text := base
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%80_000 == 0 {
					text = base
				}
				text.Append(benchDelta)
				text = text.Append(benchDelta)
			}
		})
	}
}

func BenchmarkTextMarshal(b *testing.B) {
	for _, size := range []int{100, 10 << 10, 2 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			text := NewText("")
			for text.Len() < size {
				text = text.Append(benchDelta)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := json.Marshal(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTextString(b *testing.B) {
	for _, size := range []int{100, 10 << 10, 2 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			text := NewText("")
			for text.Len() < size {
				text = text.Append(benchDelta)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				_ = text.String()
			}
		})
	}
}

var benchListSizes = []int{1, 1_000, 100_000}

func benchLists(b *testing.B, run func(b *testing.B, list List[*listItem])) {
	for _, size := range benchListSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			list := NewList(listItems(size)...)
			b.ReportAllocs()
			run(b, list)
		})
	}
}

// BenchmarkListDelta is what a streamed delta does to a list: find the part by
// its id, read it, set its successor.
func BenchmarkListDelta(b *testing.B) {
	benchLists(b, func(b *testing.B, list List[*listItem]) {
		at := list.Len() / 2
		next := &listItem{ID: strings.Clone(list.At(at).ID)}
		for b.Loop() {
			i, _ := list.Find(next.ID)
			next, list = list.At(i), list.Set(i, next)
		}
	})
}

func BenchmarkListSetFocused(b *testing.B) {
	benchLists(b, func(b *testing.B, list List[*listItem]) {
		at := list.Len() / 2
		v := list.At(at)
		for b.Loop() {
			list = list.Set(at, v)
		}
	})
}

// BenchmarkListSetMoving sets another index every time, so that the focus moves.
func BenchmarkListSetMoving(b *testing.B) {
	benchLists(b, func(b *testing.B, list List[*listItem]) {
		for i := 0; b.Loop(); i++ {
			at := i * 7919 % list.Len()
			list = list.Set(at, list.At(at))
		}
	})
}

// BenchmarkListFind looks up every key in turn, so that the focus never helps.
func BenchmarkListFind(b *testing.B) {
	for _, size := range benchListSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			items := listItems(size)
			list := NewList(items...)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := list.Find(items[i*7919%size].ID); !ok {
					b.Fatal("a key is missing")
				}
			}
		})
	}
}

// BenchmarkListAppend grows a list by an eighth and starts again.
func BenchmarkListAppend(b *testing.B) {
	for _, size := range benchListSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			items := listItems(size + size/8 + 1)
			base := NewList(items[:size]...)
			list := base
			b.ReportAllocs()
			for b.Loop() {
				if list.Len() == len(items) {
					list = base
				}
				list = list.Append(items[list.Len()])
			}
		})
	}
}

func BenchmarkListAll(b *testing.B) {
	benchLists(b, func(b *testing.B, list List[*listItem]) {
		sum := 0
		for b.Loop() {
			for _, v := range list.All() {
				sum += v.N
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(list.Len()), "ns/element")
	})
}

func BenchmarkListNew(b *testing.B) {
	for _, size := range benchListSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			items := listItems(size)
			b.ReportAllocs()
			for b.Loop() {
				NewList(items...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/element")
		})
	}
}
