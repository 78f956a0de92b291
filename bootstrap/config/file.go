package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// raw is a value as it was given, before it means anything. All of it is text: a YAML decoder would turn a code named
// 1E5 into a number and a password of 0123 into 83. Fields are exported because koanf copies values by reflection.
type raw struct {
	Source string // a variable, a file and line, or default
	Line   int
	Kind   kind
	Text   string   // kindText
	Items  []string // kindList
	Pairs  []pair   // kindPairs
	Broken bool     // already told as a fault; not to be read
}

type pair struct{ Name, Value, Source string }

type kind int

const (
	kindText kind = iota
	kindList
	kindPairs
)

// fileParser is koanf's parser for the file. It reads the YAML tree instead of decoding it into maps, since only the
// tree has lines, repeated keys and the text of a value as it was written.
//
// Keys may be nested (http: {addr: …}) or dotted (http.addr: …), whichever a template finds easier.
type fileParser struct {
	path   string
	faults *collector
	values map[string]any
}

// Unmarshal implements koanf.Parser. It never fails: what is wrong goes to the collector, with its line.
func (p *fileParser) Unmarshal(content []byte) (map[string]any, error) {
	p.values = map[string]any{}
	dec := yaml.NewDecoder(bytes.NewReader(content))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return p.values, nil
	} else if err != nil {
		p.malformed(err)
		return p.values, nil
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		p.whole("it holds more than one YAML document", "give one")
	}
	root := doc.Content[0]
	switch {
	case isNull(root):
	case root.Kind != yaml.MappingNode:
		p.whole("it is not a mapping of keys to values", "begin with a key such as http:")
	default:
		p.section("", root)
	}
	return p.values, nil
}

// Marshal implements koanf.Parser; nothing here writes a file.
func (p *fileParser) Marshal(map[string]any) ([]byte, error) {
	return nil, errors.New("settings are read, never written")
}

var lineOf = regexp.MustCompile(`line (\d+)`)

// malformed tells where the YAML is broken, and no more: the decoder's own text may quote what stands there.
func (p *fileParser) malformed(err error) {
	where := ""
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		where = " near line " + m[1]
	}
	p.whole("it is not valid YAML"+where, "look for indentation, an unclosed quote, or a value that needs quotes")
}

func (p *fileParser) whole(wrong, right string) {
	p.faults.add(Fault{Source: p.path, Wrong: wrong, Right: right, rank: rankFile})
}

func (p *fileParser) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", p.path, n.Line) }

// section reads the keys of one mapping, whose full names begin with prefix.
func (p *fileParser) section(prefix string, m *yaml.Node) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		name := prefix + k.Value
		switch {
		case k.Kind != yaml.ScalarNode:
			p.unknown(k, "this key is not a plain word", "use the keys of config.example.yaml")
		case seen[name]:
			p.repeated(name, k)
		case rankOf(name) >= 0:
			p.key(name, k, v)
		case isSection(name) && v.Kind == yaml.MappingNode:
			p.section(name+".", v)
		case isSection(name) && isNull(v): // everything below it is commented out
		case isSection(name):
			p.unknown(k, name+" holds keys and takes no value of its own", "put its keys below it, indented")
		default:
			p.unknown(k, "unknown key "+echo(name), "use the keys of config.example.yaml")
		}
		seen[name] = true
	}
}

func (p *fileParser) unknown(at *yaml.Node, wrong, right string) {
	p.faults.add(Fault{Source: p.at(at), Wrong: wrong, Right: right, rank: rankUnknown, line: at.Line})
}

func (p *fileParser) repeated(name string, at *yaml.Node) {
	f := Fault{Source: p.at(at), Wrong: "the key " + echo(name) + " is given again", Right: "give it once",
		rank: rankUnknown, line: at.Line}
	if rankOf(name) >= 0 {
		f.Key, f.rank = name, rankOf(name)
		f.Wrong = "the key is given again"
	}
	p.faults.add(f)
}

// key takes the value of a known key.
func (p *fileParser) key(name string, k, v *yaml.Node) {
	if _, twice := p.values[name]; twice { // once nested, once dotted
		p.repeated(name, k)
		return
	}
	r := &raw{Source: p.at(k), Line: k.Line}
	if wrong := p.fill(r, v); wrong != "" {
		p.faults.add(Fault{Key: name, Source: r.Source, Wrong: wrong, Right: "write plain text, a list or a mapping of plain text"})
		r.Broken = true
	}
	p.values[name] = r
}

// fill puts the value's text into r, and says what is wrong with it, if anything is.
func (p *fileParser) fill(r *raw, v *yaml.Node) (wrong string) {
	var ok bool
	switch v.Kind {
	case yaml.SequenceNode:
		r.Kind = kindList
		for i, n := range v.Content {
			text, ok := plain(n)
			if !ok {
				return "entry " + strconv.Itoa(i+1) + " is not plain text"
			}
			r.Items = append(r.Items, text)
		}
	case yaml.MappingNode:
		r.Kind = kindPairs
		for i := 0; i+1 < len(v.Content); i += 2 {
			name, okName := plain(v.Content[i])
			value, okValue := plain(v.Content[i+1])
			if !okName || !okValue {
				return "entry " + strconv.Itoa(i/2+1) + " is not plain text"
			}
			r.Pairs = append(r.Pairs, pair{Name: name, Value: value, Source: p.at(v.Content[i])})
		}
	default:
		if r.Text, ok = plain(v); !ok {
			return "the value is not plain text"
		}
	}
	return ""
}

// plain returns a scalar as it was written. Anchors, aliases and tags of one's own are refused: they make a file that
// reads differently from what it does.
func plain(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Anchor != "" {
		return "", false
	}
	switch n.ShortTag() {
	case "!!null":
		return "", true
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge":
		return n.Value, true
	default:
		return "", false
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// isSection reports whether name is the first part of known keys.
func isSection(name string) bool {
	for i := range table {
		if strings.HasPrefix(table[i].name, name+".") {
			return true
		}
	}
	return false
}
