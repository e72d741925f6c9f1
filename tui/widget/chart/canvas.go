package chart

import "strings"

// canvas is a grid of cells made of dots: two by four in braille, one in ASCII.
type canvas struct {
	columns, rows int
	ascii         bool
	cells         []uint8 // the dots of each cell, one bit each
}

func newCanvas(columns, rows int, ascii bool) *canvas {
	return &canvas{columns: columns, rows: rows, ascii: ascii, cells: make([]uint8, columns*rows)}
}

// dots is the size of the canvas in dots.
func (c *canvas) dots() (width, height int) {
	if c.ascii {
		return c.columns, c.rows
	}
	return 2 * c.columns, 4 * c.rows
}

// bits are the dots of a braille cell as Unicode numbers them: by column, then row.
func bits(x, y int) uint8 {
	return [2][4]uint8{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}[x][y]
}

// set sets a dot. Dots outside of the canvas are ignored.
func (c *canvas) set(x, y int) {
	width, height := c.dots()
	if x < 0 || y < 0 || x >= width || y >= height {
		return
	}
	if c.ascii {
		c.cells[y*c.columns+x] = 1
		return
	}
	c.cells[y/4*c.columns+x/2] |= bits(x%2, y%4)
}

// line sets the dots between two dots, and both.
func (c *canvas) line(x0, y0, x1, y1 int) {
	dx, dy := x1-x0, y1-y0
	steps := max(abs(dx), abs(dy))
	c.set(x0, y0)
	for i := 1; i <= steps; i++ {
		c.set(x0+round(dx*i, steps), y0+round(dy*i, steps))
	}
}

// round is a/b to the nearest, for positive b.
func round(a, b int) int {
	if a < 0 {
		return -round(-a, b)
	}
	return (2*a + b) / (2 * b)
}

func abs(n int) int { return max(n, -n) }

// text is the columns from (inclusive) to (exclusive) of a row.
func (c *canvas) text(row, from, to int) string {
	var b strings.Builder
	for _, dots := range c.cells[row*c.columns+from : row*c.columns+to] {
		switch {
		case dots == 0:
			b.WriteByte(' ')
		case c.ascii:
			b.WriteByte('*')
		default:
			b.WriteRune(0x2800 + rune(dots))
		}
	}
	return b.String()
}
