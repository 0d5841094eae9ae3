// Package chat stores the conversations of terminals in one of two places. A [Folder] is on this
// machine: each conversation has a store of its own, so that any number of terminals run side by
// side. A [Server] is a running server. Package tui shows both alike.
package chat
