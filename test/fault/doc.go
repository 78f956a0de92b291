// Package fault holds the tests that break things: real voucherd processes on a real Postgres of their own, under
// load, while servers freeze, die and fill up, processes are killed and clients hang up. The load keeps a book of
// every answer that it got; after each fault the book, the rows and the history must tell the same story.
package fault
