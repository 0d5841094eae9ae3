package config

import _ "embed"

//go:embed starter.yaml
var starter string

// Starter returns a commented file to start from. It contains the defaults.
func Starter() string { return starter }
