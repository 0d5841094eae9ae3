package server

import (
	"net/http"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// Program is a program that the page tells how to use the gateway, as JSON.
type Program struct {
	Name string `json:"name"`
	File string `json:"file,omitzero"` // its configuration file; left out: Text is for a shell
	Text string `json:"text"`          // what it needs, where {url} is the gateway's address
	Also string `json:"also,omitzero"` // what else to know
}

// serveSetup shows how programs use the gateway. The page knows its address as its readers see it.
func (s *Server) serveSetup(w http.ResponseWriter, _ *http.Request) {
	programs := []Program{}
	if s.config.Programs != nil {
		programs = append(programs, s.config.Programs()...)
	}
	rest.Answer(w, http.StatusOK, struct {
		Token    bool      `json:"token"` // programs need one, in place of their key
		Programs []Program `json:"programs"`
	}{s.needsToken(), programs})
}
