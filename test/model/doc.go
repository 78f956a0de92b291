// Package model runs random histories of all commands against the use cases and against a small, plain model of what
// they promise, and compares every answer. The model knows nothing of the product but its data types; it is slow, keeps
// no counters, and is meant to be read.
package model
