// Package artifacts reads what a job uploaded, as an fs.FS in the pipeline's
// layout (PROTOCOL §10):
//
//	jobs/grpo-gate/STAMP/TASK__ID/                            one attempt of the gate
//	jobs/grpo-train/step-NNNNNN/rank-NN/rollout-NNNNNN/
//	  attempt-NN/rollout_error.json                           why the rollout was tried again
//	  attempt-NN/jobs/STAMP/TASK__ID/                         one attempt of training
//	reports/score.json                                        the pipeline's own numbers
//	reports/eval_task_outcomes.json                           outcomes of the sealed tasks
//	jobs/baseline/, jobs/posttrain/                           sealed; older pipelines upload them
//
// Attempts lists what participants may look at, the attempts at their own
// training tasks, and Open shows one of them. Attempts at sealed tasks are never
// listed or opened. Report, Outcomes and Digest are for collecting a result;
// what the numbers mean is decided in package score.
//
// The tree comes from a job in which participants' code ran. Every read is
// bounded in size and count, links are not followed, and whatever is missing,
// cut off or malformed is a Problem beside the attempts rather than a failure. A
// reward that is missing, ambiguous or impossible is named and not scored.
package artifacts
