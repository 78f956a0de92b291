// Package contract holds one suite for each port of the core. Every adapter runs it, the one in memory too: a fake that
// has not passed the suite is not trusted. What a suite proves about one adapter, the use cases may rely on with any.
package contract
