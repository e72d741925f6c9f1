"""Dump syntax trees in the normal form that the Go tests also produce.

Reads paths from standard input, one a line, and writes one line for each:
the MD5 of the dump, or "refused" and the reason. With an argument, writes the
dump of that file as text.

The normal form hides what differs between Python versions without being a
difference of the source: fields that newer versions added, empty pieces of
f-strings, and, before 3.12, positions inside f-strings.
"""
import ast
import hashlib
import struct
import sys
import threading
import warnings

OUT = []
emit = OUT.append
HIDDEN = {"type_comment", "type_ignores", "kind"}
NO_POSITION = {"Module", "arguments", "comprehension", "withitem", "match_case"}
OLD_FSTRINGS = sys.version_info < (3, 12)
positions = True


def constant(node):
    value, kind = node.value, "u" if node.kind else ""
    span(node)
    if isinstance(value, str):
        emit(f'{kind}"{value}")')
    elif isinstance(value, bytes):
        emit(f'b"{value.decode("latin-1")}")')
    elif value is None or value is True or value is False or value is ...:
        emit(f"{value})")
    elif isinstance(value, int):
        emit(f"{value:x})")
    elif isinstance(value, float):
        emit(struct.pack(">d", value).hex() + ")")
    else:
        emit(struct.pack(">d", value.imag).hex() + "j)")


def span(node):
    if positions:
        emit(f"({node.__class__.__name__} {node.lineno}:{node.col_offset}"
             f"-{node.end_lineno}:{node.end_col_offset} ")
    else:
        emit(f"({node.__class__.__name__} ")


def joined(node):
    global positions
    span(node)
    saved = positions
    if OLD_FSTRINGS:
        positions = False
    for value in node.values:
        if not (isinstance(value, ast.Constant) and value.value == ""):
            DUMP[type(value)](value)
    positions = saved
    emit(")")


def sequence(items):
    emit("[")
    for item in items:
        DUMP[type(item)](item)
    emit("]")


def make(cls):
    """Write a function that dumps nodes of one class."""
    name = cls.__name__
    fields = [f for f in cls._fields if f not in HIDDEN]
    if not fields and issubclass(cls, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)):
        return lambda node: emit(name + " ")
    lines = ["def dump(n):"]
    if name in NO_POSITION or not cls._attributes:
        lines.append(f" emit('({name} ')")
    else:
        lines.append(" span(n)")
    for f in fields:
        lines += [f" x = n.{f}", " DUMP[type(x)](x)"]
    if name in ("FunctionDef", "AsyncFunctionDef", "ClassDef") and "type_params" not in fields:
        lines.append(" emit('[]')")
    if name in ("TypeVar", "TypeVarTuple", "ParamSpec") and "default_value" not in fields:
        lines.append(" emit('~ ')")
    lines.append(" emit(')')")
    scope = {"emit": emit, "span": span, "DUMP": DUMP}
    exec("\n".join(lines), scope)
    return scope["dump"]


def ext_slice(node):
    emit("(Tuple ")
    sequence(node.dims)
    emit("Load )")


DUMP = {
    list: sequence,
    str: lambda s: emit(s + " "),
    int: lambda i: emit(f"{i} "),
    type(None): lambda _: emit("~ "),
    bool: lambda b: emit(f"{b} "),
}
for cls in vars(ast).values():
    if isinstance(cls, type) and issubclass(cls, ast.AST):
        DUMP[cls] = make(cls)
DUMP[ast.Constant] = constant
DUMP[ast.JoinedStr] = joined
if sys.version_info < (3, 10):
    positions = False  # 3.8 and 3.9 place some nodes elsewhere
if sys.version_info < (3, 9):
    DUMP[ast.Index] = lambda n: DUMP[type(n.value)](n.value)
    DUMP[ast.ExtSlice] = ext_slice


def dump(path):
    with open(path, "rb") as f:
        source = f.read()
    # The limit stays as it is while parsing, so that what CPython refuses for
    # its depth is refused here too.
    tree = ast.parse(source)
    OUT.clear()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    DUMP[type(tree)](tree)
    sys.setrecursionlimit(limit)
    return "".join(OUT).encode("utf-8", "surrogatepass")


def main():
    if len(sys.argv) > 1:
        sys.stdout.buffer.write(dump(sys.argv[1]) + b"\n")
        return
    for line in sys.stdin.buffer:
        try:
            answer = hashlib.md5(dump(line.rstrip(b"\n"))).hexdigest()
        except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
            answer = f"refused {type(err).__name__}: {err}".replace("\n", " ")
        print(answer.encode("ascii", "replace").decode(), flush=True)


warnings.simplefilter("ignore")
threading.stack_size(512 << 20)
thread = threading.Thread(target=main)
thread.start()
thread.join()
