// Package hfjobs runs jobs on Hugging Face Jobs, and keeps what they read and leave
// in one private dataset, the runs dataset.
//
// Creating a job has no key that makes it idempotent (reference/hub-apis.md, J4).
// So everything that can be done before is done before (the copies of the
// collection and of the run's files), the request for the job is never repeated,
// and how it failed decides what may be believed: an answer below 500 is a refusal,
// a request that never left had no effect, and everything else is open until the
// job is found by its label, or has been looked for in vain for long enough.
//
// In the runs dataset a run's files are below job-inputs/RUN, copies of collections
// below submissions/COLLECTION/REVISION, and what a job leaves below runs/RUN.
//
// Facts are named by their ids in reference/hub-apis.md.
package hfjobs
