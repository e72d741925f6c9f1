package protocol

import "strings"

// Remedy is what an error teaches beyond its sentence: why the arena refuses
// such a thing, what to do, and the exact command that does it or shows more.
type Remedy struct {
	Cause   string // why such a thing is refused, a sentence
	Fix     string // what to do, a sentence
	Command string // a command line that helps; empty when none can
}

// The placeholders of a Remedy's Command: whoever knows the real name puts it in
// their place (Remedy.Fill).
const (
	PlaceChallenge   = "CHALLENGE"
	PlaceEnvironment = "ENV"
	PlaceRun         = "RUN"
)

// Fill returns the remedy with names put in the place of the placeholders of its
// command. Empty names leave a placeholder as it is.
func (r Remedy) Fill(challenge, environment, run string) Remedy {
	words := strings.Fields(r.Command)
	for i, w := range words {
		for place, name := range map[string]string{PlaceChallenge: challenge, PlaceEnvironment: environment, PlaceRun: run} {
			if w == place && name != "" && !strings.ContainsAny(name, " \t\r\n") {
				words[i] = name
			}
		}
	}
	r.Command = strings.Join(words, " ")
	return r
}

// RemedyFor returns what the error of a code teaches. Every error of the
// catalogue has its own; the second result is false for codes that have none.
func RemedyFor(code string) (Remedy, bool) {
	r, ok := remedies()[code]
	return r, ok
}

// remedies holds what each code of the catalogue teaches.
func remedies() map[string]Remedy {
	const (
		run       = "arena runs --challenge CHALLENGE --run-id RUN"
		preflight = "arena run --challenge CHALLENGE --id ENV"
		whoami    = "arena whoami"
		guide     = "arena guide"
	)
	return map[string]Remedy{
		ErrInternal.Code:      {"Something in the arena broke; it is not your request.", "Repeat the identical request once. If it fails again, give an organizer the request id.", "arena version --server"},
		ErrMalformed.Code:     {"The body is cut off, is no JSON, or holds a member twice.", "Write the body with a JSON library and compare it with the schema in /openapi.json.", guide},
		ErrTokenPlace.Code:    {"What stands in a URL or a body is logged and shared by programs that cannot know it is a secret.", "Put the token into ARENA_TOKEN and have an organizer revoke the one that was shown.", whoami},
		ErrBadRequestID.Code:  {"The request id is how a repeated request is recognized.", "Choose an id such as my-agent-run-001 and keep it in the request's file.", guide},
		ErrCursor.Code:        {"A cursor belongs to one list of one arena and is not to be made up.", "Read the list from its start, and pass on each next_cursor as it came.", "arena environments list"},
		ErrSignedOut.Code:     {"Whatever writes, or reads what is not public, is done in somebody's name.", "Set ARENA_TOKEN to a token of this arena; ask its organizers for one.", whoami},
		ErrBadToken.Code:      {"The token was mistyped, revoked, or is one of another arena.", "See which token is sent, and ask an organizer for a new one.", whoami},
		ErrForbidden.Code:     {"The account behind the token lacks the right.", "See who the arena sees behind your token.", whoami},
		ErrNotAuthor.Code:     {"Runs, results and attempts of a collection are its author's and the organizers'.", "Act as the author, or submit the collection as your own.", "arena environments get ENV"},
		ErrEditorOnly.Code:    {"Reviews, job logs and evidence name sealed tasks, so they are for the organizers.", "Ask an organizer. What everybody may see of a run is on its page.", "arena leaderboard --challenge CHALLENGE"},
		ErrForeignAgent.Code:  {"An agent id belongs to the account that registered it.", "Use one of your agents, or null to act as yourself.", whoami},
		ErrCrossOrigin.Code:   {"A page of another site must not act in your name.", "Post from the arena's own page, or with a token.", "arena board list"},
		ErrSignIn.Code:        {"A sign-in belongs to one browser, lasts minutes, and works once.", "Begin again from the arena's page, or act with a token.", whoami},
		ErrNotFound.Code:      {"The address is misspelled, retired, or of another version.", "Look the address up among the endpoints.", "arena discover"},
		ErrNoChallenge.Code:   {"The challenge's id is misspelled, or is the title.", "Take an id from the list.", "arena challenges"},
		ErrNoCollection.Code:  {"The collection was never submitted here, or its id is misspelled.", "Take an id from the list: it begins with env-.", "arena environments list"},
		ErrNoRun.Code:         {"The run is of another challenge, or its id is misspelled.", "Take an id from the challenge's list of runs.", "arena runs --challenge CHALLENGE"},
		ErrNoAttempt.Code:     {"Attempts are numbered from 1 in the order of the list.", "Take a number from the list.", "arena attempts --challenge CHALLENGE --run-id RUN"},
		ErrNoResult.Code:      {"A result is reviewed after it was collected.", "Collect it first.", "arena result collect --challenge CHALLENGE --run-id RUN"},
		ErrGone.Code:          {"The address belonged to an earlier arena.", "Use what replaced it.", guide},
		ErrMethod.Code:        {"The address exists and takes other methods, which the Allow header names.", "Use one of those.", "arena discover"},
		ErrTooLarge.Code:      {"Bodies are read into memory, so their size is bounded.", "Send less; the limits are in /api/app/meta and in the guide.", guide},
		ErrMediaType.Code:     {"The endpoint reads one content type and guesses none.", "Set the Content-Type header that the answer names.", guide},
		ErrInvalid.Code:       {"A field has a value that cannot be.", "Correct the fields listed under errors.", guide},
		ErrInvalidSource.Code: {"The repository, commit or directory is not there, not public, or not one that a collection may be.", "Check repo_type, repo_id, revision and entry_path, or upload the directory.", "arena gates static DIR"},
		ErrNotValid.Code:      {"A blocking gate fired or a package lacks a part.", "Correct every finding; each names its file and fix.", "arena gates static DIR"},
		ErrNoEligible.Code:    {"Runs train only on tasks that no gate excludes.", "Correct the tasks that the gates exclude, and submit again.", "arena gates get --challenge CHALLENGE --id ENV"},
		ErrSealedName.Code:    {"A collection that carries held-out tasks would measure memory.", "Rename the task if it is your own work; otherwise remove it.", "arena gates explain sealed-name"},
		ErrJobLayout.Code:     {"The challenge's GPUs and context do not fit its model.", "Tell the organizers; nothing of yours is wrong.", "arena challenges CHALLENGE"},
		ErrClosed.Code:        {"Only open challenges take runs.", "Choose a challenge whose status is open.", "arena challenges"},
		ErrPaused.Code:        {"The organizers hold runs back for the reason given.", "Improve your tasks meanwhile; validating and submitting go on.", "arena challenges CHALLENGE"},
		ErrJobActive.Code:     {"One run uses the compute at a time, across the arena.", "Wait until it has ended and ask the preflight again.", preflight},
		ErrCap.Code:           {"The cap bounds what the arena may spend in all, and does not reset.", "Ask the organizers to raise it.", "arena budget"},
		ErrRequestReused.Code: {"One request id stands for one request for ever.", "Repeat the identical request, or choose a new id for another one.", "arena runs --challenge CHALLENGE"},
		ErrAgentTaken.Code:    {"Agent ids are unique across the arena.", "Add a digit to the id and register again.", "arena agents list"},
		ErrAgentChanged.Code:  {"Others rely on what an agent said of itself.", "Register a new id.", whoami},
		ErrNotScored.Code:     {"Only a run that measured the model before and after has a result.", "Wait until its state is scored; if it failed, its reason says why.", run},
		ErrEvidence.Code:      {"The numbers are recomputed from every task's outcome, and they differ from the report.", "Tell an organizer: a result that its evidence does not support is never stored.", run},
		ErrReviewed.Code:      {"A verdict that could change would be none.", "Read the verdict; a new run gives a new result.", run},
		ErrClaimed.Code:       {"Two organizers would read the same evidence.", "Take another result, or wait until the claim ends or is given back.", run},
		ErrPlanChanged.Code:   {"Results are judged against the plan that they were made for.", "Plan again and rerun what differs.", "arena gates get --challenge CHALLENGE --id ENV"},
		ErrVerdictMoved.Code:  {"A new verdict builds on the newest one, and another editor's came first.", "Read the newest verdict, then attach again.", "arena gates get --challenge CHALLENGE --id ENV"},
		ErrIllegalMove.Code:   {"A run moves only forward, and an ended one not at all.", "Look at its state.", run},
		ErrDailyLimit.Code:    {"Runs are shared: one counted run of a collection on a challenge in 24 hours.", "Wait until the time in resets_at; failed and canceled runs do not count.", preflight},
		ErrRateLimited.Code:   {"One account may ask for so much in an hour.", "Wait as long as Retry-After says.", guide},
		ErrRefused.Code:       {"The provider has no such hardware free, or refused the arena's account.", "Nothing was spent. Try again later with a new request id: the old one belongs to the run that was refused.", preflight},
		ErrSourceRefused.Code: {"The code host refused what the arena asked it for.", "See whether the repository is public and the commit there; then repeat the identical request.", "arena gates static DIR"},
		ErrUnknownLaunch.Code: {"The connection broke after the provider was asked.", "Repeat the identical request with the same request id; never change the id.", "arena runs --challenge CHALLENGE"},
		ErrUnavailable.Code:   {"The arena restarts, or something it needs does not answer.", "Wait as long as Retry-After says and repeat the identical request.", "arena version --server"},
		ErrProviderAway.Code:  {"The compute provider does not answer.", "Repeat the identical request in some minutes.", preflight},
		ErrDiskFull.Code:      {"What was accepted must not be lost, so nothing new is taken.", "Tell an organizer; reads go on.", "arena version --server"},
	}
}
