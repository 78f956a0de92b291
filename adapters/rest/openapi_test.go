package rest_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"voucherd/adapters/rest"
	"voucherd/domain/voucher"
)

// document is the published document, loaded and validated once: 3.1 and all its examples.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(rest.Document())
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(loader.Context)
})

func loadDocument(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := document()
	require.NoError(t, err)
	return doc
}

// requireDocumented demands that the document has the answer, its headers and the form of its body.
func requireDocumented(t testing.TB, route string, got reply) {
	t.Helper()
	doc := loadDocument(t)
	var want *openapi3.ResponseRef
	method, path, matched := strings.Cut(route, " ")
	switch {
	case got.status == 405:
		want = doc.Components.Responses["MethodNotAllowed"]
	case got.status == 404 && !matched:
		want = doc.Components.Responses["NotFound"]
	case !matched:
		want = doc.Components.Responses["Unauthenticated"]
	default:
		want = doc.Paths.Value(path).GetOperation(method).Responses.Value(strconv.Itoa(got.status))
	}
	require.NotNil(t, want, "%s: %d is not in the document: %s", route, got.status, got.body)
	for name, h := range want.Value.Headers {
		if h.Value.Required {
			require.NotEmpty(t, got.header.Get(name), "%s: %s", route, name)
		}
	}
	media := want.Value.Content["application/json"]
	if media == nil || got.body == "" {
		return
	}
	var body any
	require.NoError(t, json.Unmarshal([]byte(got.body), &body), got.body)
	require.NoError(t, media.Schema.Value.VisitJSON(body, openapi3.EnableJSONSchema2020()), "%s: %s", route, got.body)
}

func TestDocumentHasEveryRouteAndNoOther(t *testing.T) {
	var documented []string
	for path, item := range loadDocument(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	require.ElementsMatch(t, newAPI(t).server.RouteNames(), documented)
}

func TestDocumentHasEveryCodeAndNoOther(t *testing.T) {
	codes := map[string]bool{}
	for _, c := range rest.OwnCodes() {
		codes[c] = true
	}
	for _, f := range voucher.Faults() {
		codes[f.Code] = true
	}
	var documented []string
	for _, c := range loadDocument(t).Components.Schemas["Error"].Value.Properties["error"].Value.Enum {
		s, ok := c.(string)
		require.True(t, ok)
		documented = append(documented, s)
	}
	require.Equal(t, slices.Sorted(maps.Keys(codes)), slices.Sorted(slices.Values(documented)))
	for c := range codes {
		require.GreaterOrEqual(t, strings.Count(string(rest.Document()), c), 2, "%s stands in the list alone", c)
	}
}

func TestDocumentIsServed(t *testing.T) {
	r := newAPI(t).get("/openapi.yaml")
	require.Equal(t, 200, r.status)
	require.Equal(t, "application/yaml", r.header.Get("Content-Type"))
	require.Equal(t, string(rest.Document()), r.body)
}
