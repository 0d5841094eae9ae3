//go:build !race

package lab_test

const raced = false
