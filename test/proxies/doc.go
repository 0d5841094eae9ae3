// Package proxies puts reverse proxies and a forward proxy of other people's, with the settings that they have by
// default, in front of the real program and between it and a provider that fails on command, and compares what
// arrives with what arrives without one. It has only tests.
//
// The tests skip unless RIDETHROUGH_PROXIES is set. scripts/soak servers installs the proxies from Debian and runs
// them, which takes two minutes. docs/proxies.md has the results.
package proxies
