// Package chart draws one training curve: as a plot with axes, a logarithmic scale
// if wanted, and a cursor that reads off points; or as a sparkline of one row.
//
// However many points there are, no extreme is lost: of the points that share a
// column the plot draws everything between the least and the greatest. Values that
// cannot be drawn (not finite, or not positive on a logarithmic scale) are counted
// beside the title instead of being left out silently. Curves with different units
// are different charts; there are no plots with two scales.
//
// Why this is not NimbleMarkets/ntcharts: at v0.4.0 its time series chart averages
// the points that fall into one column, which removes the very spikes one looks
// for; it has no logarithmic scale; and its canvas renders a style for each cell,
// which for a screen of curves takes longer than a frame has. What is left would
// be the braille patterns, which are a few lines.
package chart
