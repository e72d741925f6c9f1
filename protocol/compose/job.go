package compose

// The names under which a job finds the secrets that the arena made for its run:
// the one that opens its tunnel, and the key by which its sandboxes call the model.
const (
	SecretRelayJob   = "ARENA_RELAY_SECRET"
	SecretRelayModel = "ARENA_RELAY_KEY"
)
