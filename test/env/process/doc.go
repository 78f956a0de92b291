// Package process starts the child processes of tests so that none outlives
// the test process, hands out ports that parallel test processes don't fight
// over, and walks process trees: a server's children call setsid, so neither a
// process group nor a session finds them.
package process
