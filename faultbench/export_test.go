package main

// Names returns the names of all checks.
func Names() (all []string) {
	for _, c := range checks {
		all = append(all, c.name)
	}
	return all
}

// Command is a call of the program.
var Command = command
