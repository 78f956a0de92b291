package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"voucherd/adapters/rest"
)

// published is the OpenAPI document as a judge of answers. Its schemas are compiled once each: a test sees answers by
// the ten thousand.
type published struct {
	err      error
	tree     any
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema
}

const documentName = "openapi.yaml"

var document = sync.OnceValue(func() *published {
	d := &published{compiler: jsonschema.NewCompiler(), schemas: make(map[string]*jsonschema.Schema)}
	d.compiler.AssertFormat()
	text, err := yaml.YAMLToJSON(rest.Document())
	if err == nil {
		d.tree, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	}
	if err == nil {
		err = d.compiler.AddResource(documentName, d.tree)
	}
	d.err = err
	return d
})

var errUndocumented = errors.New("the document doesn't know it")

// check says whether the document allows this answer to this request.
func (d *published) check(r request, a answer) error {
	if d.err != nil {
		return d.err
	}
	schema, err := d.schema(r.method, r.route, a.status)
	if err != nil {
		return err
	}
	if schema == nil {
		if len(a.body) > 0 {
			return fmt.Errorf("%w: a body", errUndocumented)
		}
		return nil
	}
	if media := a.header.Get("Content-Type"); media != "application/json" {
		return fmt.Errorf("Content-Type %q", media)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		return err
	}
	return schema.Validate(body)
}

// schema is that of the answer's body, nil where there is none.
func (d *published) schema(method, route string, status int) (*jsonschema.Schema, error) {
	key := method + " " + route + " " + strconv.Itoa(status)
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.schemas[key]; ok {
		return s, nil
	}
	at := []string{"paths", route, strings.ToLower(method), "responses", strconv.Itoa(status)}
	response, at := d.find(at)
	if response == nil {
		return nil, fmt.Errorf("%w: status %d of %s %s", errUndocumented, status, method, route)
	}
	var s *jsonschema.Schema
	if status != http.StatusNoContent {
		at = append(at, "content", "application/json", "schema")
		var err error
		if s, err = d.compiler.Compile(documentName + "#" + pointer(at)); err != nil {
			return nil, err
		}
	}
	d.schemas[key] = s
	return s, nil
}

// find follows the path and the references on it, and returns what is there and where that is.
func (d *published) find(path []string) (found any, at []string) {
	found = d.tree
	for _, name := range path {
		node, isMap := found.(map[string]any)
		if !isMap {
			return nil, nil
		}
		at = append(at, name)
		if found = node[name]; found == nil {
			return nil, nil
		}
		if node, isMap := found.(map[string]any); isMap {
			if ref, isRef := node["$ref"].(string); isRef {
				found, at = d.find(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
			}
		}
	}
	return found, at
}

// pointer writes a path as a JSON pointer, in a URL's fragment.
func pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name))
	}
	return b.String()
}
