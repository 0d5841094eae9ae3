package config

import (
	"fmt"

	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/reload"
)

// Tokens returns a function that returns the tokens of the file as it is now; nil: there is no file. report gets
// the tokens of each changed file, or why it has none: then the previous ones stay.
func (c *Config) Tokens(env func(string) string, report func([]access.Token, error)) (func() []access.Token, error) {
	if c.tokens == "" {
		return nil, nil
	}
	name := c.path(env)(c.tokens)
	parse := func(texts [][]byte) ([]access.Token, error) {
		all, err := access.Parse(texts[0])
		if err != nil {
			err = fmt.Errorf("file %s, %w", name, err)
		}
		return all, err
	}
	file, err := reload.New(parse, report, name)
	if err != nil {
		return nil, Errors{c.source.fault(c.at["tokens"], "%v", err)}
	}
	return file.Get, nil
}
