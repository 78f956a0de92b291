// Package e2e holds the tests of whole processes: voucherd as a shop meets it, over HTTP, several of them at once on a
// real PostgreSQL. There is nothing here but tests; a test named by a number (F01, …) is the field case of that number.
//
// Whatever a test is about, its client holds every answer to the published document, and refuses all of 5xx but an
// honest 503; after each case the sums must come out (see stage.sums).
package e2e
