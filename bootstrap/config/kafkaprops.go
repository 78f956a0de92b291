package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// reserved are the librdkafka properties that can't be set, each with the reason. An answer of 201 rests on the first
// ones: an event that was acknowledged is on every in-sync replica, once, in the voucher's partition, and is stored
// before the position moves on.
var reserved = map[string]string{
	"acks":                                  "the promises rest on it",
	"request.required.acks":                 "the promises rest on it",
	"enable.idempotence":                    "the promises rest on it",
	"enable.gapless.guarantee":              "the promises rest on it",
	"max.in.flight":                         "the promises rest on it",
	"max.in.flight.requests.per.connection": "the promises rest on it",
	"retries":                               "the promises rest on it",
	"message.send.max.retries":              "the promises rest on it",
	"transactional.id":                      "the promises rest on it",
	"partitioner":                           "the promises rest on it",
	"partitioner_cb":                        "the promises rest on it",
	"message.timeout.ms":                    "it follows from http.request_timeout",
	"delivery.timeout.ms":                   "it follows from http.request_timeout",
	"enable.auto.commit":                    "the promises rest on it",
	"auto.commit.enable":                    "the promises rest on it",
	"auto.commit.interval.ms":               "the promises rest on it",
	"enable.auto.offset.store":              "the promises rest on it",
	"offset.store.method":                   "the promises rest on it",
	"auto.offset.reset":                     "the promises rest on it",
	"isolation.level":                       "the promises rest on it",
	"partition.assignment.strategy":         "the promises rest on it",
	"bootstrap.servers":                     "it is kafka.brokers",
	"metadata.broker.list":                  "it is kafka.brokers",
	"group.id":                              "it is kafka.group",
	"default.topic.config":                  "it could carry any of the others",
	"plugin.library.paths":                  "it would load code into the process",
}

// openProperty matches the names whose values may be printed. Which properties hold a secret only librdkafka knows,
// and new ones come with each release, so whatever is not named here is hidden.
var openProperty = regexp.MustCompile(`^(security\.protocol|client\.id|client\.rack|debug|compression\..*|.*\.(ms|bytes))$`)

func properties(name string) key {
	return key{
		name: name,
		show: func(s *Settings) any {
			out := []pair{}
			for _, p := range slices.Sorted(maps.Keys(s.Kafka.Properties)) {
				value := s.Kafka.Properties[p]
				shown := value.String()
				if openProperty.MatchString(p) {
					shown = value.Reveal()
				}
				out = append(out, pair{Name: p, Value: shown})
			}
			return out
		},
		read: func(s *Settings, r raw) []problem {
			entries, ps := pairs(r, maxProperties)
			out := map[string]Secret{}
			for i, e := range entries {
				if p := checkProperty(i, e, out); p != nil {
					ps = append(ps, *p)
				}
				out[e.Name] = NewSecret(e.Value)
			}
			if ps == nil {
				s.Kafka.Properties = out
			}
			return ps
		},
	}
}

func checkProperty(i int, e pair, before map[string]Secret) *problem {
	const right = "give librdkafka properties by their names, each once"
	if !propertyForm.MatchString(e.Name) {
		// Not the name: it may be the rest of a value that held a comma.
		return &problem{wrong: entry(i) + " has no valid name", right: right, source: e.Source}
	}
	if why, no := reserved[e.Name]; no {
		return &problem{wrong: e.Name + " can't be set: " + why, right: "leave it out", source: e.Source}
	}
	if strings.HasPrefix(e.Name, "go.") {
		return &problem{wrong: e.Name + " can't be set: it is the client library's own", right: "leave it out", source: e.Source}
	}
	if _, twice := before[e.Name]; twice {
		return &problem{wrong: e.Name + " is given again", right: right, source: e.Source}
	}
	return nil
}
