// Package webhooks tells other programs what happens in the arena: it sends each
// event of /api/events, as it stands there, to the addresses that the configuration
// names.
//
// Requests are signed as Standard Webhooks 1.0 says: HMAC-SHA256 over
// "id.timestamp.body" in the header webhook-signature. What is to be sent and what
// came of it is the store's to remember, so a restart goes on where the last process
// stopped. A crash between an answer and its record makes one more request with the
// same webhook-id: at least once, and the receiver knows a repetition.
//
// An address is configuration of an operator, but what its name resolves to is the
// receiver's: connections to addresses that are not public are refused when they are
// made, after the name was resolved, so a name that changes its mind gets nowhere.
package webhooks
