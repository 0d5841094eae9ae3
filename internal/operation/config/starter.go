package config

import _ "embed"

//go:embed starter.yaml
var starter string

// Starter is a file to begin with: it changes nothing, and says what could be
// changed.
func Starter() string { return starter }
