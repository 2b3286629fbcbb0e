"""Templates of contexts in Jinja2, cut to what ends.

Jinja2's sandbox keeps a template from what is not its own; it bounds neither time nor memory. So the language has
conditions, printing, a short list of filters, and loops over what is given, where an inner loop goes over a part of
what the outer one goes over: all steps together are bounded by the data. There are no calls, macros, assignments,
arithmetic or includes. Each access, filter and print looks at the time as well, and no text in between grows beyond
what a context may have.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any

from jinja2 import ChainableUndefined, Template, TemplateSyntaxError, Undefined, nodes
from jinja2.exceptions import TemplateRuntimeError
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ricordo_server.domain.context_entries import UNPRINTABLE, one_line
from ricordo_server.domain.limits import MAX_CONTEXT_CHARACTERS
from ricordo_server.domain.template_data import FIELDS, as_json, as_text, as_xml, mark

VARIABLES = ("query", "note", "chunks", "groups")
LOOP_FIELDS = (
    "index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem",
)  # fmt: skip
TESTS = ("defined", "undefined", "none", "string", "number", "boolean", "mapping", "sequence")
MAX_LOOP_DEPTH = 3
# Of one thread, for all renderings of a context: some hundred of them take about 50 ms.
MAX_CPU_SECONDS = 2.0

_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.If, nodes.Name, nodes.Getattr, nodes.Getitem,
    nodes.Const, nodes.Filter, nodes.Keyword, nodes.Test, nodes.Compare, nodes.Operand, nodes.And, nodes.Or,
    nodes.Not, nodes.CondExpr, nodes.List, nodes.Tuple,
)  # fmt: skip

_deadline: ContextVar[float] = ContextVar("_deadline", default=float("inf"))


class TemplateFault(Exception):  # noqa: N818 - a verdict
    """Why a template is not accepted, or did not render, and in which of its lines."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)


@contextmanager
def limited_time() -> Iterator[None]:
    """Renderings inside take `MAX_CPU_SECONDS` of this thread in all, or fail."""
    token = _deadline.set(time.thread_time() + MAX_CPU_SECONDS)
    try:
        yield
    finally:
        _deadline.reset(token)


@lru_cache(maxsize=256)
def compile_template(source: str) -> Template:
    """The template, ready to render.

    Raises:
        TemplateFault: It is no Jinja2, or uses what is left out here; with the line.
    """
    if found := UNPRINTABLE.search(source):
        line = source.count("\n", 0, found.start()) + 1
        raise TemplateFault(f"the control character {found[0]!r}: remove it", line)
    try:
        tree = _ENVIRONMENT.parse(source)
        _check_nodes(tree)
        _check_loops(tree, over=None, depth=0)
        _check_names(tree)
        return _ENVIRONMENT.from_string(tree)
    except TemplateSyntaxError as error:
        raise TemplateFault(error.message or "a syntax error", error.lineno) from error
    except (RecursionError, SyntaxError, ValueError) as error:  # of the parser's or the compiled code's depth
        raise TemplateFault(
            f"it is nested too deeply, or holds a number that is too long ({error})"
        ) from error


def _check_nodes(tree: nodes.Template) -> None:
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED):
            raise TemplateFault(f"{type(node).__name__} is left out of this language", node.lineno)
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise TemplateFault(f"no filter {node.name!r}; there are: {', '.join(FILTERS)}", node.lineno)
        if isinstance(node, nodes.Test) and node.name not in TESTS:
            raise TemplateFault(f"no test {node.name!r}; there are: {', '.join(TESTS)}", node.lineno)


def _check_names(tree: nodes.Template) -> None:
    unknown = find_undeclared_variables(tree) - set(VARIABLES)
    for name in tree.find_all(nodes.Name):
        if name.name in unknown:
            raise TemplateFault(f"no {name.name!r}; there are: {', '.join(VARIABLES)}", name.lineno)


def _check_loops(node: nodes.Node, *, over: frozenset[str] | None, depth: int) -> None:
    """`over` are the names that the enclosing loop sets; the outermost loops go over what is given."""
    if isinstance(node, nodes.For):
        _check_loop(node, over, depth)
        over, depth = frozenset(name.name for name in _names(node.target)), depth + 1
    for child in node.iter_child_nodes():
        _check_loops(child, over=over, depth=depth)


def _check_loop(loop: nodes.For, over: frozenset[str] | None, depth: int) -> None:
    if loop.recursive:
        raise TemplateFault("recursive loops are left out of this language", loop.lineno)
    if depth == MAX_LOOP_DEPTH:
        raise TemplateFault(f"loops stand at most {MAX_LOOP_DEPTH} deep", loop.lineno)
    root = loop.iter
    while isinstance(root, nodes.Getattr | nodes.Getitem | nodes.Filter) and root.node is not None:
        root = root.node
    if not isinstance(root, nodes.Name) or (over is not None and root.name not in over):
        what = "what is given" if over is None else f"a part of {' or '.join(sorted(over))}"
        raise TemplateFault(f"this loop must go over {what}", loop.lineno)


def _names(node: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node
    yield from node.find_all(nodes.Name)


def check_time() -> None:
    """Raises when the renderings have taken their time."""
    if time.thread_time() > _deadline.get():
        raise TemplateRuntimeError(f"it takes more than {MAX_CPU_SECONDS:g} s: do less in it")


class Given(Sequence[Any]):
    """A list that a template is given: going over it looks at the time."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            check_time()
            yield item


class _Environment(ImmutableSandboxedEnvironment):
    """Access to fields of ours and keys of maps, and to nothing else that Python objects have."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        check_time()
        if isinstance(obj, Mapping):
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if accepted := FIELDS.get(type(obj)):
            if attribute not in accepted:
                raise TemplateRuntimeError(f"no field {attribute!r}; there are: {', '.join(accepted)}")
            return getattr(obj, attribute)
        if isinstance(obj, LoopContext) and attribute in LOOP_FIELDS:
            return getattr(obj, attribute)
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        check_time()
        if isinstance(obj, Sequence) and isinstance(argument, int) and argument < len(obj):
            return obj[argument]
        return self.undefined(obj=obj, name=argument)


def _print(value: Any) -> str:
    check_time()
    return "" if isinstance(value, Undefined) else mark(value)


def _default(value: Any, other: Any = "") -> Any:
    return other if value is None or isinstance(value, Undefined) or value == "" else value


def _join(values: Sequence[Any], separator: str = "") -> str:
    """Of a list; a text stays as it is."""
    if isinstance(values, str):
        return values
    texts = [as_text(value) for value in values]
    if sum(map(len, texts)) + len(texts) * len(separator) > MAX_CONTEXT_CHARACTERS:
        raise TemplateRuntimeError(f"a text of more than {MAX_CONTEXT_CHARACTERS} characters")
    return separator.join(texts)


def _truncate(value: Any, length: int = 255) -> str:
    text = as_text(value)
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"


def _items(value: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    return list(value.items())


FILTERS: Mapping[str, Callable[..., Any]] = {
    "default": _default,
    "items": _items,
    "join": _join,
    "json": as_json,
    "length": len,
    "lower": lambda value: as_text(value).lower(),
    "one_line": lambda value: one_line(as_text(value)),
    "truncate": _truncate,
    "upper": lambda value: as_text(value).upper(),
    "xml": as_xml,
}


def _bounded(name: str) -> Callable[..., Any]:
    """A filter that looks at the time and makes no text beyond what a context may have."""

    @wraps(FILTERS[name])
    def apply(value: Any, *arguments: Any, **options: Any) -> Any:
        check_time()
        made = FILTERS[name](
            "" if isinstance(value, Undefined) and name != "default" else value, *arguments, **options
        )
        if isinstance(made, str) and len(made) > MAX_CONTEXT_CHARACTERS:
            raise TemplateRuntimeError(f"a text of more than {MAX_CONTEXT_CHARACTERS} characters")
        return made

    return apply


def _make_environment() -> _Environment:
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=ChainableUndefined, finalize=_print, cache_size=0
    )
    environment.globals.clear()
    environment.filters = {name: _bounded(name) for name in FILTERS}
    environment.tests = {name: environment.tests[name] for name in TESTS}
    return environment


_ENVIRONMENT = _make_environment()
