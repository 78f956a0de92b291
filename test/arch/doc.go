// Package arch checks the walls of the house on the code itself: who imports
// whom, how long a file is, where time comes from. The linter has rules for
// the same; this looks at the import graph that the compiler sees, and no
// comment in a file can switch it off.
package arch
