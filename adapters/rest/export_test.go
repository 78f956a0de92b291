package rest

// RouteNames returns the routes as metrics know them.
func (s *Server) RouteNames() []string {
	var names []string
	for _, r := range s.routes() {
		names = append(names, r.name())
	}
	return names
}

// OwnCodes returns the codes of the refusals that HTTP brings in.
func OwnCodes() []string {
	var codes []string
	for _, r := range []*refusal{
		errUnauthenticated, errForbidden, errNoRoute, errNoMethod, errTooLarge, errMediaType, errInternal, errUnready,
	} {
		codes = append(codes, r.code)
	}
	return codes
}
