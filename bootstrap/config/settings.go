// Package config holds the settings of a process: what they are, how they are read and what they may be.
//
// Settings come from one YAML file and from the environment, which wins. One table (keys.go) names every key with its
// default, its bounds and its place in Settings; reading, checking and printing all walk that table, so a key cannot
// be known to one and unknown to another. Every fault is found before anything starts, and all of them are told
// together. What is secret is held as a Secret, which no verb of fmt and no encoder prints.
//
// Parse is a function of the file's content and the environment alone (and of the files that _FILE variables name), so
// that a changed file can be judged while the process runs, before anything follows it.
package config

import (
	"slices"
	"time"

	"voucherd/domain/voucher"
)

// Settings are the checked settings of one process. Values are made by Load or Parse and are not changed afterwards.
type Settings struct {
	HTTP        HTTP
	Roles       Roles
	Database    Database
	Redis       Redis
	Kafka       Kafka
	Reservation Reservation
	Jobs        Jobs
	Vouchers    Vouchers
	Log         Log
}

// HTTP says where and for whom the process serves.
type HTTP struct {
	Addr           string        // host:port to listen on; port 0 takes a free one
	RequestTimeout time.Duration // past it a request is answered 503; 1 ms to 20 s
	DrainDelay     time.Duration // how long a stopping process stays open after it turned unready; 0 to 20 s
	AdminTokens    []Token       // may do everything
	CheckoutTokens []Token       // may reserve, confirm, release, read reservations and one voucher
}

// Open reports whether no token is set: then nobody is asked for one, and Addr is a loopback address.
func (h HTTP) Open() bool { return len(h.AdminTokens)+len(h.CheckoutTokens) == 0 }

// Token is a bearer token and the name of whoever holds it. Names and values are unique over both lists.
type Token struct {
	Name  string // the actor in the history
	Value Secret // 16 to 256 visible ASCII characters
}

// Role is one of the jobs that a process can do.
type Role string

// The roles.
const (
	RoleAPI    Role = "api"    // serves HTTP
	RoleWriter Role = "writer" // stores the events of flash-async
	RoleJobs   Role = "jobs"   // expiry, reconciliation, sweeping
)

// Roles are what this process does: at least one, none twice.
type Roles []Role

// Has reports whether r is among the roles.
func (rs Roles) Has(r Role) bool { return slices.Contains(rs, r) }

// Database says where the truth is kept.
type Database struct {
	URL            Secret // memory: or a postgres:// URL
	MaxConnections int    // 1 to 1000, for requests; writer and jobs have small pools of their own beside it
	AutoMigrate    bool   // serve applies pending migrations; otherwise it only checks
}

// inMemory is the URL of the store that lives and dies with the process.
const inMemory = "memory:"

// InMemory reports whether everything is kept in this process and is gone with it.
func (d Database) InMemory() bool { return d.URL.Reveal() == inMemory }

// Redis says where the gate is kept. Without Addrs it is in memory.
type Redis struct {
	Addrs       []string // one: a single server; several: a cluster; with MasterName: sentinels
	MasterName  string
	Username    string
	Password    Secret
	TLS         bool
	MinReplicas int // replicas that must hold a gate decision before an answer; 0 to 10
}

// Kafka says where the event stream is kept. Without Brokers it is in memory.
type Kafka struct {
	Brokers         []string
	Topic           string
	DeadLetterTopic string
	Group           string
	CreateTopics    bool
	Partitions      int // of a topic that is made; 1 to 10000
	// ReplicationFactor of a topic that is made, 1 to 32; 0 means unset: 3, or as many as there are brokers.
	ReplicationFactor int
	// Properties are further librdkafka properties. Which of them are secret only librdkafka knows, so all are held so.
	// Never nil.
	Properties map[string]Secret
}

// Reservation bounds the life of a reservation.
type Reservation struct {
	TTL time.Duration // 1 ms to 90 days
}

// Jobs says how often what runs by itself runs.
type Jobs struct {
	ExpireInterval    time.Duration // 1 ms to 24 h
	ReconcileInterval time.Duration // 1 ms to 24 h
	ReconcileRepair   bool          // reconciliation repairs what it finds
}

// Vouchers says who decides a reserve.
type Vouchers struct {
	DefaultMode voucher.Mode                  // of a voucher that names none
	Modes       map[voucher.Code]voucher.Mode // wins over what the API says; never nil
}

// Log says what is logged and how.
type Log struct {
	Level  string // debug, info, warn or error
	Format string // console or json
}
