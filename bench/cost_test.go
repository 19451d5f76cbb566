package main

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		list []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 3, 100}, 3.5},
	} {
		if got := median(c.list); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.list, got, c.want)
		}
	}
}

// A slow moment of the machine falls on a pair, and leaves its ratio as it is.
func TestPairs(t *testing.T) {
	ratio := func(x, y float64) float64 { return x / y }
	if got := median(pairs([]float64{2, 20, 6}, []float64{1, 10, 3}, ratio)); got != 2 {
		t.Errorf("median ratio = %v, want 2", got)
	}
}
