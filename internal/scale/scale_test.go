package scale

import "testing"

func TestCount(t *testing.T) {
	for _, tc := range []struct {
		full    int
		setting string
		want    int
	}{
		{10_000, "", 1_000},
		{10_000, "1", 10_000},
		{10_000, "2.5", 25_000},
		{3, "", 1},
		{3, "0.0001", 1},
	} {
		if got := count(tc.full, tc.setting); got != tc.want {
			t.Errorf("count(%d, %q) = %d, want %d", tc.full, tc.setting, got, tc.want)
		}
	}
}

func TestCountRefusesNonsense(t *testing.T) {
	for _, setting := range []string{"0", "-1", "many", "NaN"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("count(1, %q) did not panic", setting)
				}
			}()
			count(1, setting)
		}()
	}
}
