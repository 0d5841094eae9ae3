// Package clip bounds texts of others for logs, events and answers.
package clip

import "strings"

// Text returns the first bytes of a text, without what is no UTF-8.
func Text(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }
