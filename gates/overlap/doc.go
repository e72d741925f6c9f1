// Package overlap finds prompts that share text: a collection's with the sealed suites' (decontamination), and a
// collection's with each other.
//
// A text is normalized (Unicode NFKC, lower case) and split into maximal runs of letters and digits. Its grams are
// the set of its 13-word sequences; a text of fewer than 13 words is one gram of its own, so that it only equals the
// same short text (PROTOCOL §6). Two texts are compared by the grams they share: containment is that number divided
// by the size of one set, and the larger of both directions counts.
//
// Grams are 64-bit hashes. Among 20 million sealed and 100,000 submitted grams the chance that any two different ones
// collide is about one in ten million. The hash has no secret, and needs none: a collision can only be engineered by
// someone who wants their own task to be rejected.
//
// The index is a flat list of the sealed grams, and a comparison runs once along it with the few submitted grams in a
// small table. That takes no sorting to build and a fraction of the memory of an inverted index, and a collection is
// always compared as a whole.
package overlap
