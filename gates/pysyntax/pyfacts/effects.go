package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

func (c *collector) skip(n pysyntax.Node, kind string, s *scope, conditional bool) {
	c.facts.Skips = append(c.facts.Skips, Skip{c.place(n, s), kind, conditional})
}

// walkDecorators records what decorators do to the function or class whose
// scope is given.
func (c *collector) walkDecorators(decorators []pysyntax.Expr, s *scope, at circumstances) {
	for _, d := range decorators {
		call, _ := d.(*pysyntax.Call)
		fn := d
		if call != nil {
			fn = call.Func
		}
		c.skipMark(d, c.dotted(fn, s), call, s)
		c.walkExprs(d, s.outer, at)
	}
}

// skipMark records a mark such as pytest.mark.skip.
func (c *collector) skipMark(n pysyntax.Node, name string, call *pysyntax.Call, s *scope) {
	switch name {
	case "pytest.mark.skip", "unittest.skip":
		c.skip(n, "skip", s, false)
	case "pytest.mark.skipif", "unittest.skipIf", "unittest.skipUnless":
		c.skip(n, "skipif", s, true)
	case "pytest.mark.xfail", "unittest.expectedFailure":
		c.skip(n, "xfail", s, call != nil && len(call.Args) > 0)
	case "pytest.mark.parametrize":
		if call == nil {
			return
		}
		values := argument(call, 1, "argvalues")
		if values == nil {
			return
		}
		for _, it := range c.follow(item{expr: values, scope: s.outer}, 0) {
			switch d := it.expr.(type) {
			case *pysyntax.List, *pysyntax.Tuple, *pysyntax.Set:
				if len(displayElements(d)) == 0 && !c.mayChange(values) {
					c.skip(n, "empty-parametrize", s, false)
				}
			}
		}
	}
}

func (c *collector) mayChange(e pysyntax.Expr) bool {
	name, ok := e.(*pysyntax.Name)
	return ok && c.mutated[name.ID]
}

// skippingCall records calls that skip the rest of a test or file.
func (c *collector) skippingCall(n *pysyntax.Call, name string, s *scope, at circumstances) {
	switch name {
	case "pytest.skip":
		c.skip(n, "skip", s, at.conditional)
	case "pytest.importorskip":
		c.skip(n, "importorskip", s, true)
	case "pytest.xfail":
		c.skip(n, "xfail", s, at.conditional)
	}
	if a, ok := n.Func.(*pysyntax.Attribute); ok && a.Attr == "skipTest" {
		c.skip(n, "skip", s, at.conditional)
	}
}

// noteFlow records where values go, and marks for the whole file.
func (c *collector) noteFlow(stmt pysyntax.Stmt, s *scope) {
	switch n := stmt.(type) {
	case *pysyntax.Assign:
		for _, t := range n.Targets {
			c.flow(t, n.Value, s)
			if name, ok := t.(*pysyntax.Name); ok && name.ID == "pytestmark" {
				c.fileMarks(n.Value, s)
			}
		}
	case *pysyntax.AnnAssign:
		if n.Value != nil {
			c.flow(n.Target, n.Value, s)
		}
	case *pysyntax.AugAssign:
		c.flow(n.Target, n.Value, s)
	case *pysyntax.ExprStmt:
		c.flow(nil, n.Value, s)
	}
}

// fileMarks records the marks in "pytestmark = ...".
func (c *collector) fileMarks(e pysyntax.Expr, s *scope) {
	marks := displayElements(e)
	if marks == nil {
		marks = []pysyntax.Expr{e}
	}
	for _, mark := range marks {
		call, _ := mark.(*pysyntax.Call)
		fn := mark
		if call != nil {
			fn = call.Func
		}
		c.skipMark(mark, c.dotted(fn, s), call, s)
	}
}

// command records calls that run commands.
func (c *collector) command(n *pysyntax.Call, name string, s *scope, at circumstances) {
	shell, checked := false, false
	switch name {
	case "subprocess.run", "subprocess.call", "subprocess.Popen", "subprocess.getoutput", "subprocess.getstatusoutput":
		shell = isTrue(argument(n, -1, "shell")) || strings.HasPrefix(name, "subprocess.get")
		checked = isTrue(argument(n, -1, "check"))
	case "subprocess.check_call", "subprocess.check_output":
		shell, checked = isTrue(argument(n, -1, "shell")), true
	case "os.system", "os.popen", "asyncio.create_subprocess_shell":
		shell = true
	case "asyncio.create_subprocess_exec", "os.execvp", "os.execv", "os.spawnlp":
	default:
		return
	}
	cmd := Command{Place: c.place(n, s), Via: name, Shell: shell, Checked: checked}
	if name == "asyncio.create_subprocess_exec" {
		cmd.Args = c.words(item{tuple: itemsOf(n.Args, s)})
	} else if arg := argument(n, 0, "args"); arg != nil {
		cmd.Args = c.commandWords(arg, s)
	}
	c.facts.Commands = append(c.facts.Commands, cmd)
	switch {
	case checked && c.asksExistence(n, s):
		c.assertion(n, Exists, s, at)
	case checked:
		c.assertion(n, Succeeds, s, at)
	}
}

func isTrue(e pysyntax.Expr) bool {
	k, ok := e.(*pysyntax.Constant)
	return ok && k.Kind == pysyntax.True
}

func itemsOf(exprs []pysyntax.Expr, s *scope) []item {
	items := make([]item, len(exprs))
	for i, e := range exprs {
		items[i] = item{expr: e, scope: s}
	}
	return items
}

// commandWords returns the words of a command given as a list or a string.
func (c *collector) commandWords(arg pysyntax.Expr, s *scope) []string {
	followed := c.follow(item{expr: arg, scope: s}, 0)
	if len(followed) == 1 {
		it := followed[0]
		if call, ok := it.expr.(*pysyntax.Call); ok && c.dotted(call.Func, it.scope) == "shlex.split" && len(call.Args) > 0 {
			if text := c.single(call.Args[0], it.scope); !strings.ContainsAny(text, `'"\`) {
				return strings.Fields(text)
			}
			return []string{Unknown}
		}
		if elts := displayElements(it.expr); elts != nil {
			return c.words(item{tuple: itemsOf(elts, it.scope)})
		}
	}
	return []string{c.single(arg, s)} // a command line, or the name of a program
}

// words evaluates the elements of a list of arguments.
func (c *collector) words(it item) []string {
	var words []string
	for _, element := range it.tuple {
		if star, ok := element.expr.(*pysyntax.Starred); ok {
			for _, e := range c.elements(star.Value, element.scope, 0) {
				if e.expr == nil {
					words = append(words, Unknown)
				} else {
					words = append(words, c.single(e.expr, e.scope))
				}
			}
			continue
		}
		if c.dotted(element.expr, element.scope) == "sys.executable" {
			words = append(words, "python3")
			continue
		}
		words = append(words, c.single(element.expr, element.scope))
	}
	return words
}

// single evaluates an expression that must have one value; several give an
// unknown one.
func (c *collector) single(e pysyntax.Expr, s *scope) string {
	vs := c.eval(e, s, 0)
	if len(vs) != 1 {
		return Unknown
	}
	return vs[0].text
}

// networkCall records calls that reach over the network.
func (c *collector) networkCall(n *pysyntax.Call, name string, s *scope) {
	module, fn, _ := cutLast(name)
	var target pysyntax.Expr
	switch {
	case module == "requests" || module == "httpx" || module == "requests.sessions":
		switch fn {
		case "get", "post", "put", "delete", "head", "patch", "options":
			target = argument(n, 0, "url")
		case "request", "stream":
			target = argument(n, 1, "url")
		case "Session", "Client", "AsyncClient":
			target = argument(n, -1, "base_url")
		default:
			return
		}
	case name == "urllib.request.urlopen" || name == "urllib.request.urlretrieve":
		target = c.requestTarget(argument(n, 0, "url"), s)
	case name == "urllib3.request":
		target = argument(n, 1, "url")
	case module == "http.client" && strings.HasSuffix(fn, "Connection"),
		module == "ftplib", module == "smtplib", module == "telnetlib", name == "xmlrpc.client.ServerProxy",
		module == "websockets.sync.client", module == "websockets":
		target = argument(n, 0, "host")
	case name == "socket.create_connection":
		target = firstOf(argument(n, 0, "address"))
	case name == "aiohttp.ClientSession" || name == "urllib3.PoolManager":
	case c.isSocketConnect(n):
		target = firstOf(n.Args[0])
		name = "socket.connect"
	default:
		return
	}
	use := NetworkUse{Place: c.place(n, s), Via: name, Target: Unknown}
	if target != nil {
		use.Target = c.single(target, s)
	}
	use.Local = isLocal(use.Target)
	c.facts.Network = append(c.facts.Network, use)
}

// requestTarget looks into urllib's Request objects.
func (c *collector) requestTarget(e pysyntax.Expr, s *scope) pysyntax.Expr {
	if e == nil {
		return nil
	}
	for _, it := range c.follow(item{expr: e, scope: s}, 0) {
		call, ok := it.expr.(*pysyntax.Call)
		if ok && c.dotted(call.Func, it.scope) == "urllib.request.Request" {
			return argument(call, 0, "url")
		}
	}
	return e
}

// isSocketConnect recognizes sock.connect((host, port)).
func (c *collector) isSocketConnect(n *pysyntax.Call) bool {
	a, ok := n.Func.(*pysyntax.Attribute)
	if !ok || a.Attr != "connect" && a.Attr != "connect_ex" || len(n.Args) != 1 {
		return false
	}
	t, ok := n.Args[0].(*pysyntax.Tuple)
	return ok && len(t.Elts) == 2
}

// firstOf returns the host of an address.
func firstOf(e pysyntax.Expr) pysyntax.Expr {
	if elts := displayElements(e); len(elts) > 0 {
		return elts[0]
	}
	return nil
}

// isLocal reports whether a URL or host is this machine.
func isLocal(target string) bool {
	if i := strings.Index(target, "://"); i >= 0 {
		target = target[i+3:]
	}
	if i := strings.LastIndexByte(strings.SplitN(target, "/", 2)[0], '@'); i >= 0 {
		target = target[i+1:]
	}
	for _, host := range [...]string{"localhost", "127.0.0.1", "0.0.0.0", "[::1]", "::1"} {
		if rest, ok := strings.CutPrefix(target, host); ok && (rest == "" || strings.ContainsRune(":/?#", rune(rest[0]))) {
			return true
		}
	}
	return false
}
