package voucher

import "voucherd/domain/fault"

// Mode says who decides a reservation of a voucher.
type Mode string

// The known modes. A process serves those that it is wired for; the others are known by name and refused.
const (
	// Standard: Postgres decides, under the lock of the voucher's row.
	Standard Mode = "standard"
	// FlashSync: a gate decides and Postgres stores before the answer.
	FlashSync Mode = "flash-sync"
	// FlashAsync: a gate decides, a log keeps the event, and a writer stores it later.
	FlashAsync Mode = "flash-async"
)

// Modes lists the known modes in the order of the documentation.
func Modes() []Mode { return []Mode{Standard, FlashSync, FlashAsync} }

// ParseMode returns s as a Mode; an unknown name is an Invalid fault.
func ParseMode(s string) (Mode, error) {
	for _, m := range Modes() {
		if s == string(m) {
			return m, nil
		}
	}
	return "", fault.In("mode", "must be one of standard, flash-sync, flash-async")
}
