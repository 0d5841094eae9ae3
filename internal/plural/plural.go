// Package plural counts things in sentences for people.
package plural

import "strconv"

// Count returns a number with its noun: "1 try", "3 tries".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
