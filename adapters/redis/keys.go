package redis

import "voucherd/domain/voucher"

// keys are all keys of a voucher, in the order in which every script expects them. The braces make the code the hash
// tag, so that a cluster keeps them in one slot; a code can hold no brace itself.
func keys(code voucher.Code) []string {
	prefix := "voucher:{" + string(code) + "}:"
	return []string{prefix + "remaining", prefix + "users", prefix + "orders", prefix + "meta", prefix + "pending"}
}
