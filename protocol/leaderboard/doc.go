// Package leaderboard ranks collections by what their accepted runs measured
// (PROTOCOL §11).
//
// A collection is ranked by the mean Δ of its accepted runs, not by its best one:
// one run's noise is several points, and a best-of would reward running often.
// How uncertain the mean is comes from two places. Repeated runs tell how much Δ
// varies from run to run, training included; that variance is pooled over all
// collections that have repeats, because each has few. And every run tells how
// much its own evaluation varies, which is the least that a run can vary.
//
// The interval of a row answers another question: what Δ would be on other tasks
// like those of the suite. It comes from a paired bootstrap over tasks.
//
// Rank is a pure function of the results: the same results give the same board,
// intervals included.
package leaderboard
