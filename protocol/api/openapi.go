package api

import (
	"maps"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/posttrainarena/arena/protocol"
)

// Schemas holds the JSON schemas of every request and answer, made from the Go
// types. The server checks bodies against them and publishes them, so that what
// is documented and what is enforced cannot differ.
type Schemas struct {
	registry huma.Registry
	requests map[string]*huma.Schema // by route name
	answers  map[string]*huma.Schema
	problem  *huma.Schema
}

// NewSchemas builds the schemas of every route.
func NewSchemas() *Schemas {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	// Money is an exact decimal in JSON; to a schema that is a number.
	registry.RegisterTypeAlias(reflect.TypeFor[protocol.Micros](), reflect.TypeFor[float64]())
	s := &Schemas{registry: registry, requests: map[string]*huma.Schema{}, answers: map[string]*huma.Schema{}}
	schema := func(v any) *huma.Schema { return registry.Schema(reflect.TypeOf(v), true, "") }
	for _, r := range Routes() {
		if r.Request != nil {
			s.requests[r.Name] = schema(r.Request)
		}
		if r.Answer != nil {
			s.answers[r.Name] = schema(r.Answer)
		}
	}
	s.problem = schema(Problem{})
	s.allowNull()
	return s
}

// schemaName is a type's name in the document: the wire's own types by their
// plain name, those of another package with its name in front.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if pkg := path.Base(t.PkgPath()); t.Name() != "" && pkg != "api" {
		return strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	return name
}

// allowNull corrects what the generator cannot know: a pointer, to an object or
// to money too, is null when there is nothing, and lists in answers are never
// null. An answer leaves out what has omitempty; a request may say null there.
func (s *Schemas) allowNull() {
	isRequest := map[string]bool{}
	for _, schema := range s.requests {
		isRequest[schema.Ref] = true
	}
	for name, schema := range s.registry.Map() {
		ref := "#/components/schemas/" + name
		if t := s.registry.TypeFromRef(ref); t != nil && t.Kind() == reflect.Struct {
			for _, f := range reflect.VisibleFields(t) {
				p := schema.Properties[jsonName(f)]
				if p == nil {
					continue
				}
				if f.Type.Kind() == reflect.Pointer && (isRequest[ref] || !strings.Contains(f.Tag.Get("json"), ",omitempty")) {
					schema.Properties[jsonName(f)] = nullable(p)
				}
				if p.Type == huma.TypeArray && !isRequest[ref] {
					p.Nullable = false
				}
			}
		}
	}
}

// nullable is a schema that takes null too.
func nullable(s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return &huma.Schema{AnyOf: []*huma.Schema{{Ref: s.Ref}, {Type: "null"}}, Description: s.Description}
	}
	s.Nullable = true
	return s
}

var tagName = regexp.MustCompile(`^[^,]*`)

func jsonName(f reflect.StructField) string { return tagName.FindString(f.Tag.Get("json")) }

// Schema lets the OpenAPI document say that launched is a boolean or a word.
func (Launched) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeBoolean}, {Type: huma.TypeString, Enum: []any{string(protocol.LaunchedUnknown)}}}}
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// Document is the OpenAPI 3.1 description of every route.
func (s *Schemas) Document(baseURL, version string) *huma.OpenAPI {
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:       "PostTrain Arena",
			Version:     version,
			Description: "Measures how much a collection of RL task environments improves a model. Errors are RFC 9457 problems; GET /api/discover lists every endpoint in one line each.",
			License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: baseURL}},
		Paths:   map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas:         s.registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "A token of this arena"}},
		},
	}
	for _, r := range Routes() {
		item := doc.Paths[r.Path]
		if item == nil {
			item = &huma.PathItem{}
			doc.Paths[r.Path] = item
		}
		op := s.operation(r)
		if r.Method == http.MethodPost {
			item.Post = op
		} else {
			item.Get = op
		}
	}
	return doc
}

func (s *Schemas) operation(r Route) *huma.Operation {
	op := &huma.Operation{
		OperationID: r.Name, Summary: r.Summary, Description: "Who may call it: " + r.Role.String() + ".",
		Responses: map[string]*huma.Response{}, Security: []map[string][]string{{"token": {}}},
	}
	if r.Role == protocol.RolePublic { // works without a token, and with one
		op.Security = append([]map[string][]string{{}}, op.Security...)
	}
	for _, m := range pathParam.FindAllStringSubmatch(r.Path, -1) {
		op.Parameters = append(op.Parameters, &huma.Param{Name: m[1], In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, q := range r.Query {
		schema := &huma.Schema{Type: huma.TypeString}
		if q.Integer {
			schema.Type = huma.TypeInteger
		}
		op.Parameters = append(op.Parameters, &huma.Param{Name: q.Name, In: "query", Description: q.Doc, Required: q.Required, Schema: schema})
	}
	if r.Request != nil {
		op.RequestBody = s.requestBody(r)
	}
	ok := s.answer(r)
	op.Responses["200"] = ok
	if r.Creates {
		op.Responses["201"] = ok
	}
	if r.Page && r.Method == http.MethodPost {
		op.Responses["303"] = &huma.Response{Description: "Done; the page to look at is in Location"}
	}
	for _, status := range r.failures() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{ProblemType: {Schema: s.problem}},
		}
		if r.Page {
			op.Responses[strconv.Itoa(status)].Content[ContentHTML] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
	return op
}

func (s *Schemas) requestBody(r Route) *huma.RequestBody {
	body := &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{ContentJSON: {Schema: s.requests[r.Name]}}}
	if r.Bundle {
		body.Content["multipart/form-data"] = &huma.MediaType{Schema: &huma.Schema{
			Type: huma.TypeObject, Required: []string{"request", "bundle"},
			Properties: map[string]*huma.Schema{
				"request": s.requests[r.Name],
				"bundle":  {Type: huma.TypeString, Format: "binary", Description: "A tar stream of the directory, plain or gzipped"},
			},
		}}
	}
	return body
}

func (s *Schemas) answer(r Route) *huma.Response {
	out := &huma.Response{Description: r.Summary, Content: map[string]*huma.MediaType{}}
	switch {
	case r.Answer != nil:
		out.Content[ContentJSON] = &huma.MediaType{Schema: s.answers[r.Name]}
	case r.Content == ContentJSON:
		out.Content[ContentJSON] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject}}
	default:
		out.Content[r.Content] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	if r.Page {
		for _, also := range r.alsoAs() {
			out.Content[also] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
	if r.Stream {
		out.Content[ContentEvents] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return out
}

// alsoAs lists the other content types of a page: most have a twin in Markdown,
// and each asset has a type of its own.
func (r Route) alsoAs() []string {
	switch r.Content {
	case ContentHTML:
		return []string{ContentMarkdown}
	case ContentText:
		return []string{"text/css", "text/javascript", "image/svg+xml"}
	default:
		return nil
	}
}

// failures lists the statuses of the problems that a route can answer with.
func (r Route) failures() []int {
	set := map[int]bool{400: true, 401: true, 429: true, 500: true, 503: true}
	if r.Role != protocol.RolePublic {
		set[403] = true
	}
	if pathParam.MatchString(r.Path) || slices.ContainsFunc(r.Query, func(p Param) bool { return p.Names }) {
		set[404] = true
	}
	if r.Method == http.MethodPost {
		set[403], set[409], set[413], set[422] = true, true, true, true
	}
	if r.Request != nil {
		set[415] = true
	}
	if r.Name == "launch" {
		set[502] = true
	}
	if len(r.Query) > 0 {
		set[422] = true
	}
	return slices.Sorted(maps.Keys(set))
}
