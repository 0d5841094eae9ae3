// Package latency measures how long upstreams take to the first content of an answer, and says from when on a
// silent one is not going to answer.
//
// It is arithmetic on histograms with 6 % wide buckets. Package transport ends silent tries by it, package
// history shows its medians. Both keep the same histogram.
package latency
