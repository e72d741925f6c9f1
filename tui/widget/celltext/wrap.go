package celltext

import "strings"

// Break cuts the text into rows of at most width columns, wherever the columns
// end: the way a log wraps. Rows are not padded; a row is a column short where the
// next character is wide. Empty text is one empty row, and there are no rows when
// width is not positive.
func Break(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	s = Clean(s)
	rows := make([]string, 0, len(s)/width+1)
	for {
		row, rest := cut(s, width)
		rows = append(rows, row)
		if rest == "" {
			return rows
		}
		s = rest
	}
}

// Rows is how many rows Break makes of the text.
func Rows(s string, width int) int {
	if width <= 0 {
		return 0
	}
	s = Clean(s)
	if printable(s) {
		return max((len(s)+width-1)/width, 1)
	}
	n := 1
	for _, rest := cut(s, width); rest != ""; n++ {
		_, rest = cut(rest, width)
	}
	return n
}

// Wrap breaks prose into rows of at most width columns, at spaces where it can.
// Line ends in the text end rows, and a line's indentation is kept on its first
// row. Rows are not padded. There are no rows when width is not positive.
func Wrap(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	var rows []string
	for _, line := range Lines(s) {
		rows = wrapLine(rows, strings.TrimRight(line, " "), width)
	}
	return rows
}

// wrapLine adds the rows of one clean line.
func wrapLine(rows []string, line string, width int) []string {
	for {
		row, rest := cut(line, width)
		if rest == "" {
			return append(rows, row)
		}
		// Break at the last space, if there is a word before it; the space after a
		// row that is just full counts.
		if space := strings.LastIndexByte(row+rest[:1], ' '); space > 0 {
			if words := strings.TrimRight(row[:space], " "); words != "" {
				row, rest = words, row[space:]+rest
			}
		}
		rows = append(rows, row)
		line = strings.TrimLeft(rest, " ")
	}
}

// cut splits clean text after its first row. A wide character for which a single
// column is all there is becomes a question mark, so that there is always progress.
func cut(s string, width int) (row, rest string) {
	n, _ := seek(s, width)
	if n == 0 && s != "" {
		n, _ = Next(s)
		return "?", s[n:]
	}
	return s[:n], s[n:]
}
