"""Renders a context by a template of the project's own."""

import traceback
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from os.path import commonprefix

from jinja2 import TemplateError

from ricordo_server.domain.context import Chunk, ContextSource, Rendering
from ricordo_server.domain.context_entries import entry_of
from ricordo_server.domain.limits import MAX_CONTEXT_CHARACTERS
from ricordo_server.domain.rendering import HEADINGS, NOTE, group_by_source, label_of
from ricordo_server.domain.session import Turn
from ricordo_server.domain.template_data import Framed, TemplateChunk, TemplateGroup, frame
from ricordo_server.domain.template_language import Given, TemplateFault, compile_template, limited_time

# What printing and comparing raise on data that a template does not expect.
_FAILURES = (TemplateError, TypeError, ValueError)


@cache
def default_template() -> str:
    """What renders as MARKDOWN does."""
    return resources.files("ricordo_server.domain").joinpath("default_template.md.jinja").read_text()


def check_template(source: str) -> None:
    """Compiles the template and renders a chunk of each source. CPU work: call it through `asyncio.to_thread`.

    Raises:
        TemplateFault: It is not accepted, or does not render; with the line.
    """
    sample = [
        TemplateChunk(Framed("1"), Framed(name.lower()), "tea", "green", Framed("2026-01-31"), metadata={})
        for name in ContextSource
    ]
    groups = [TemplateGroup(chunk.source, Framed("Facts"), Given([chunk])) for chunk in sample]
    with limited_time():
        _render(source, "what to have for tea", sample, groups)


class TemplateRenderer:
    """Renders chunks by a template, within `limited_time`. What it raises is TemplateFault."""

    def __init__(self, source: str, query: str) -> None:
        self._source, self._query = source, query

    def render(self, chunks: Sequence[Chunk]) -> Rendering:
        """The text, cut beyond `MAX_CONTEXT_CHARACTERS`. Nothing renders empty."""
        if not chunks:
            return Rendering()
        groups = [
            TemplateGroup(
                Framed(source.lower()), Framed(HEADINGS[source]), Given([_view(chunk) for chunk in group])
            )
            for source, group in group_by_source(chunks).items()
        ]
        return Rendering(_render(self._source, self._query, [_view(chunk) for chunk in chunks], groups))

    def render_chunk(self, chunk: Chunk) -> Rendering:
        """What the chunk adds where there is one of its source: the difference between it alone and it twice."""
        once, twice = self.render([chunk]).text, self.render([chunk, chunk]).text
        start = len(commonprefix([once, twice]))  # noqa: RUF071 - of texts
        return Rendering(twice[start : start + max(len(twice) - len(once), 0)])


def _render(source: str, query: str, chunks: Sequence[TemplateChunk], groups: Sequence[TemplateGroup]) -> str:
    template = compile_template(source)
    given = {"query": query, "note": Framed(NOTE), "chunks": Given(chunks), "groups": Given(groups)}
    try:
        return frame(_join(template.generate(given))).strip("\n")
    except _FAILURES as error:
        raise TemplateFault(str(error), _line_of(error)) from error


def _join(pieces: Iterable[str]) -> str:
    parts: list[str] = []
    length = 0
    for piece in pieces:
        parts.append(piece)
        length += len(piece)
        if length > MAX_CONTEXT_CHARACTERS:
            break
    return "".join(parts)


def _line_of(error: BaseException) -> int:
    """The template's line, which Jinja2 puts in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((each.lineno or 0 for each in reversed(frames) if each.filename == "<template>"), 0)


def _view(chunk: Chunk) -> TemplateChunk:
    entry, item = entry_of(chunk.item), chunk.item
    score = chunk.score if chunk.rerank_score is None else chunk.rerank_score
    turn = item if isinstance(item, Turn) else None
    return TemplateChunk(
        id=Framed(chunk.item_id),
        source=Framed(chunk.source.lower()),
        label=label_of(chunk),
        content=entry.body,
        time=Framed(entry.time),
        recorded=Framed(entry.recorded),
        role=turn.role if turn else "",
        tool=turn.tool_name if turn else "",
        is_error=bool(turn and turn.is_error),
        custom_type="" if isinstance(item, Turn) else item.custom_type,
        agent_id=item.agent_id,
        user_id=item.scope.user_id or "",
        session_id=item.scope.session_id or "",
        tags=() if isinstance(item, Turn) else item.tags,
        metadata=item.metadata,
        score=score,
    )
