// Package k8sjobs runs jobs on a Kubernetes cluster (PROTOCOL §8): one batch/v1
// Job with one pod for each run. It is the only package that knows the cluster's
// client.
//
// # What is where
//
// The Job is named after its run, so a create that is repeated answers
// AlreadyExists and the job is adopted. It carries the run's id as a label, by
// which Find lists it, and as an annotation, which says it exactly when an id does
// not fit into a label. Its pod is never replaced: restartPolicy is Never and
// backoffLimit is 0.
//
// Files travel over a volume that both sides have: a claim in the cluster that
// many nodes can mount (Options.VolumeClaim), and the same storage as a directory
// of the arena's machine (Options.Dir). Each job has a directory there:
//
//	record.json  what the arena knows of the job; the pod does not see it
//	run/         the command's working directory, mounted at /arena/run: config.toml,
//	             task-lists/, and collection/ when no code host has the collection
//	output/      what the job leaves, mounted at /arena/output
//	secrets/     what the arena made for this run alone, a file for each, mounted at
//	             /arena/secrets to be read; removed when the job has ended
//
// The task lists name sealed tasks. Directories have mode 0700 and files 0600, and
// the pod runs as the arena's own user, which must therefore be able to read the
// claim. A cluster that the arena's machine shares no storage with cannot be used.
//
// The command gets the variables ARENA_RUN_ID, ARENA_RUN_DIR (/arena/output),
// ARENA_CONFIG and ARENA_COLLECTION like one of the local provider, HOME (a directory
// of the node that goes with the pod), those that the configuration sets, and secrets
// by name (secretKeyRef): their values never pass
// through the arena.
//
// Secrets of the run itself (Spec.Secrets) are files of the job's directory, NAME in
// secrets/, and the command gets their paths in variables NAME_FILE. They are in no
// object of the cluster. A Secret object would have to be there before the Job, whose
// UID it needs to be removed with it, so that a crash between the two leaves one
// behind; made after the Job, a crash leaves a pod that never starts, whose secrets
// nobody knows any more. And the arena's account would need rights on every secret of
// its namespace. The directory already holds what is as confidential, and lives and
// dies with the job.
//
// The pod fits the restricted security profile unless the
// arena's user is root, and no token of the cluster is mounted into it.
//
// # Time and money
//
// The pod's activeDeadlineSeconds is the run's timeout, counted from when the pod
// is on a node: a pod that it ends keeps its log. The Job's own is longer by
// Options.Queue, how long a pod may wait for hardware; it counts from creation and
// is the second lock when a node does not answer any more. Time is billed from when
// the pod is on a node, which keeps its GPUs from others although images are still
// being pulled, until its container ends, and never beyond the timeout. The price
// is the configuration's.
//
// # What the cluster forgets
//
// Canceling deletes the Job in the foreground: the cluster takes the request, ends
// the pod within its grace, and forgets both. record.json remembers that the job
// was canceled and, once seen, when the pod began and how the job ended. A Job that
// somebody else deletes is gone (ErrNoJob). A finished Job stays for Options.Keep
// (ttlSecondsAfterFinished), and so does its directory.
//
// # Logs
//
// A line's position is its time in nanoseconds, or one more than the line's before
// it if that is not less. Reading on asks for what came since a little earlier
// (sinceTime knows whole seconds only) and leaves out what was seen. A stream that
// is cut is opened again; the part of a line that came with the cut is not taken
// for a line. A node keeps only so much of a log (10 MiB unless its kubelet is told
// otherwise), so an arena that was away for longer than that may miss lines.
//
// # Failures
//
// Start is refused only by an answer of the API server itself that says so (400,
// 401, 403, 404, 405, 406, 413, 415, 422). A request that was never written had no
// effect, and neither had one that was turned away with 429 or a conflict. Anything
// else may have created the Job: a cut answer, a proxy's page, 408, and every 5xx.
// An empty list proves something only when it is a list of the API server, and
// "not found" only when it names the job.
//
// The arena's account needs, in its namespace: create, get, list and delete on
// jobs.batch, list on pods, and get on pods/log.
package k8sjobs
