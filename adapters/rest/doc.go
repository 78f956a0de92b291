// Package rest is the HTTP interface: it decodes requests, calls the use cases and answers. It decides nothing about
// vouchers, and it is the one place where a refusal becomes a status.
//
// The published rules leave some things open; here they are settled:
//
//   - The token comes first, also on a path that doesn't exist or with a method that it doesn't have: whoever has no
//     token learns nothing. With any known token these are 404 NOT_FOUND and 405 METHOD_NOT_ALLOWED.
//   - HEAD is answered wherever GET is, as GET without its body. OPTIONS is 405: there is no CORS.
//   - Of several faults in a body the known fields come first, in the order of the published table, each with all that
//     can be wrong with it (missing, repeated, of another type, out of range); then the first name that is unknown or
//     differently cased. A body that is no JSON object as a whole goes before both.
//   - A body sent to a call that has none is ignored. A query parameter that the call doesn't know is ignored, one that
//     it knows must stand there once.
//   - A tag in If-Match that can't be one of ours fits nothing (412); a header that is no list of tags is 400.
//   - Answered times have exactly three decimals, so that what was read and sent back reads the same again.
//   - A client that hangs up cancels nothing that has begun. Its reserve, confirm or release is left out if it was
//     still waiting for its turn.
//   - What isn't HTTP, or has headers over the limit, is answered by net/http itself (400, 431), in plain text.
package rest
