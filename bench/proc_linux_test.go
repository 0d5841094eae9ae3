package main_test

import (
	"testing"

	main "github.com/ridethrough/ridethrough/bench"
)

func TestCPU_GrowsWithWork(t *testing.T) {
	before, err := main.OwnCPU()
	if err != nil {
		t.Fatalf("own cpu: %v", err)
	}
	sum := 0
	for i := range 20_000_000 {
		sum += i * i
	}
	after, err := main.OwnCPU()
	if err != nil || after <= before || sum == 0 {
		t.Errorf("from %v to %v, %v", before, after, err)
	}
}
