# Syntax that came with Python 3.10 to 3.14.
type Tree[K, V = int] = dict[K, Tree[K, V] | V]


class Box[T: (int, str), *Ts, **P]:
    def put[S](self, *items: *tuple[S, ...], **options: P.kwargs) -> Box[S]:
        match items:
            case []:
                return self
            case [int(n) | float(n), *_] if n > 0:
                return t"{n!r:>{options['width']}} of {len(items) = }"
            case {"kind": "box", **rest} | Box(value=rest) as found:
                return f"{rest["a"]}{'\n'.join(
                    str(x) for x in found  # one a line
                )}"
            case -1.5 + 2j | None | "":
                pass
            case _:
                raise ExceptionGroup("bad", [ValueError(repr(items))])


def run(tasks):
    with (
        open("a") as first,
        open("b") as second,
    ):
        try:
            return tasks[*first, 1:2, *second]
        except* OSError, ValueError:
            print(f"{tasks!s:{10}}", f'{f'{1}{{2}}'}')
        except* KeyError as group:
            lambda: (yield group)
