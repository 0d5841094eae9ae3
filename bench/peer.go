//go:build linux

package main

import (
	"net"
	"strings"
)

// peerCommand returns the command of the other proxy, which is to listen on addr, in front of an upstream.
func (b *bench) peerCommand(addr, upstream string) []string {
	host, port, _ := net.SplitHostPort(addr) // a free port of loopback
	argv := strings.Fields(b.peer)
	for i, word := range argv {
		argv[i] = strings.NewReplacer("{host}", host, "{port}", port, "{upstream}", upstream).Replace(word)
	}
	return argv
}

// headersOfPeer returns the headers that tell the other proxy what to do.
func (b *bench) headersOfPeer(upstream string) (filled []string) {
	for _, h := range b.peerHeaders {
		filled = append(filled, strings.ReplaceAll(h, "{upstream}", upstream))
	}
	return filled
}
