// Package migrations holds the schema's history: numbered SQL files, each with its way up and its way down, applied in
// order. A file that has been released is never edited; what is wrong in it is put right by the next one.
package migrations

import "embed"

// Files are the migrations, named NNNNN_what.sql.
//
//go:embed *.sql
var Files embed.FS
