// Package score makes one run's numbers from its evidence (PROTOCOL §11).
//
// The evidence is the outcome of every sealed task before and after training, one
// a trial, and the pipeline's own report. Collect requires that the outcomes cover
// the sealed suites exactly, recomputes every number that the report claims, and
// refuses a report that differs. Nothing that Collect returns on refusal names a
// sealed task: it counts them.
//
// With one suite and one trial the number of a run is
//
//	Δ = 100·(a − b),  stderr = 100·sqrt(b(1−b)/n + a(1−a)/n)
//
// with b and a the shares of the n tasks that passed before and after; a task
// whose attempt errored did not pass. With several suites or trials every pair of
// outcomes of one task in one trial, a cell, weighs the same; cells with an
// infrastructure error on either side are left out, and the error is that of the
// mean difference over cells, clustered by task.
package score
