package redis

import (
	"crypto/sha1" //nolint:gosec // the name under which a server caches a script, no secret
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
)

//go:embed scripts/*.lua
var files embed.FS

// script is a Lua program that a server caches under its digest.
type script struct {
	name, source, digest string
	// durable: with replicas asked for, the answer counts only once they hold it. Such a script always writes.
	durable bool
}

var (
	reserveScript     = load("reserve", true)
	acknowledgeScript = load("acknowledge", true)
	giveBackScript    = load("give_back", true)
	findScript        = load("find", false)
	pendingScript     = load("pending", false)
	liveScript        = load("live", false)
	inspectScript     = load("inspect", false)
	closeScript       = load("close", true)
	fillScript        = load("fill", false)
	openScript        = load("open", false)
	tellScript        = load("tell", true)
	lowerScript       = load("lower", true)
	retireScript      = load("retire", false)
)

// load puts a script together: its first line, which carries the flags, what all scripts share, and the rest.
func load(name string, durable bool) script {
	flags, body, _ := strings.Cut(read(name), "\n")
	source := flags + "\n" + read("prelude") + body
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	return script{name: name, source: source, digest: hex.EncodeToString(sum[:]), durable: durable}
}

func read(name string) string {
	text, err := files.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("script %s is not embedded: %v", name, err)) // a build without it can't pass one test
	}
	return string(text)
}
