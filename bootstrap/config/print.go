package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Redacted returns the settings as YAML, in the order of the published table, with *** for every secret. What is not
// set shows as empty.
func (s Settings) Redacted() string {
	root := &yaml.Node{Kind: yaml.MappingNode}
	var section *yaml.Node
	current := ""
	for i := range table {
		group, name, nested := strings.Cut(table[i].name, ".")
		into := root
		if !nested {
			name = group
		} else {
			if group != current {
				section = &yaml.Node{Kind: yaml.MappingNode}
				root.Content = append(root.Content, scalar(group), section)
			}
			into = section
		}
		current = group
		into.Content = append(into.Content, scalar(name), shown(table[i].show(&s)))
	}
	out, err := yaml.Marshal(root)
	if err != nil { // a tree of plain nodes always marshals
		return ""
	}
	return string(out)
}

// String is Redacted, so that settings that are printed by accident show no more than those printed on purpose.
func (s Settings) String() string { return s.Redacted() }

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func shown(value any) *yaml.Node {
	switch v := value.(type) {
	case []string:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range v {
			n.Content = append(n.Content, scalar(item))
		}
		return n
	case []pair:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		for _, p := range v {
			n.Content = append(n.Content, scalar(p.Name), scalar(p.Value))
		}
		return n
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	default:
		text, _ := v.(string)
		return scalar(text)
	}
}
