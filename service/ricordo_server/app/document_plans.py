"""What is to be written into which document: facts that are decided on become lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ricordo_server.app.consolidation_writes import sources_of, weight_of
from ricordo_server.app.document_writes import DocumentEdit
from ricordo_server.db.sources import Source
from ricordo_server.domain.consolidation import Decision, Outcome, Trust, most_trusted
from ricordo_server.domain.documents import fits, lines_of, parts_of, replaced, slug_of, with_line
from ricordo_server.domain.extraction import Candidate
from ricordo_server.domain.filter import AnyOf, Comparator, Comparison, Filter
from ricordo_server.domain.generation import Learned
from ricordo_server.domain.memory import CUSTOM_TOPIC, MANAGED_TOPIC, Memory, MemorySource, Provenance
from ricordo_server.domain.scope import Visibility


@dataclass(frozen=True)
class Line:
    """A line of a document, as the memory that the rules of consolidation see, and when it was said last.

    That memory is the same one as long as the document says the line, whatever else in it changes.
    """

    document: Memory
    text: str
    memory: Memory
    said_time: datetime | None


@dataclass
class Draft:
    """What a document is to say, and what its lines rest on; `document` is None of one that is new."""

    path: str
    document: Memory | None
    content: str
    rests: list[tuple[str, Candidate]] = field(default_factory=list)


def is_closed(document: Memory) -> bool:
    """Whether nothing that was learned may change it: it is pinned, or everyone reads it."""
    return document.pinned or document.visibility is not Visibility.PRIVATE


def path_of(candidate: Candidate) -> str:
    """The first document of the candidate's topic."""
    topic = candidate.topics[0] if candidate.topics else ""
    if topic.startswith(MANAGED_TOPIC):
        topic = topic.replace("_", "-")
    return f"/{slug_of(topic.removeprefix(MANAGED_TOPIC).removeprefix(CUSTOM_TOPIC))}.md"


def about(candidates: Sequence[Candidate]) -> Filter:
    """The documents in which the candidates' topics are."""
    stems = sorted({path_of(candidate).removesuffix(".md") for candidate in candidates})
    return AnyOf([Comparison(("key",), Comparator.PREFIX, [stem]) for stem in stems])


def split_lines(
    documents: Sequence[Memory], said_times: Mapping[tuple[str, str], datetime] | None = None
) -> list[Line]:
    """`said_times` by document and line; a line without one rests on nothing that was said."""
    times = said_times or {}
    return [
        Line(
            document,
            text,
            replace(document, memory_id=f"{document.memory_id}#{text}", content=text, key=None, revision=0),
            times.get((document.memory_id, text)),
        )
        for document in documents
        for text in lines_of(document.content)
    ]


def edits_of(
    learned: Learned, documents: Sequence[Memory], lines: Sequence[Line], decisions: Sequence[Decision]
) -> list[DocumentEdit]:
    drafts = {
        document.key or "": Draft(document.key or "", document, document.content) for document in documents
    }
    by_line = {line.memory.memory_id: line for line in lines}
    for decision in decisions:
        text = decision.weighed.candidate.content
        line = by_line[decision.target.memory_id] if decision.target else None
        if decision.outcome is Outcome.CREATED:
            draft = _open_draft(drafts, decision.weighed.candidate, text)
            draft.content = with_line(draft.content, text)
        elif line is None:
            continue
        else:
            draft = drafts[line.document.key or ""]
            text = line.text if decision.outcome is Outcome.KNOWN else text
            draft.content = replaced(draft.content, line.text, text)
        draft.rests.append((text, decision.weighed.candidate))
    return [_edit(learned, draft) for draft in drafts.values() if draft.rests]


def _edit(learned: Learned, draft: Draft) -> DocumentEdit:
    sources = _sources(learned, draft.rests)
    provenance = Provenance(
        session_id=learned.origin.session_id,
        turn_ids=sorted({source.turn_id for source in sources}),
        extraction_model=learned.model,
        prompt_version=learned.prompt_version,
        trust=_trust(learned, draft),
    )
    return DocumentEdit(draft.path, draft.document, draft.content, sources, provenance)


def _trust(learned: Learned, draft: Draft) -> str:
    """That of the most trusted words in the document: nothing trusted less changes a line of it."""
    if learned.source is not MemorySource.EXTRACTION:
        return ""
    trusts = [weight_of(learned, candidate)[0] for _, candidate in draft.rests]
    if draft.document and draft.document.provenance.trust:
        trusts.append(Trust(draft.document.provenance.trust))
    return most_trusted(trusts)


def _open_draft(drafts: dict[str, Draft], candidate: Candidate, text: str) -> Draft:
    """The topic's first document that has room and may be written; what is closed goes on in another."""
    for path in parts_of(path_of(candidate)):
        draft = drafts.setdefault(path, Draft(path, None, ""))
        if not (draft.document and is_closed(draft.document)) and fits(draft.content, text):
            return draft
    raise AssertionError("unreachable: there is always another part")


def _sources(learned: Learned, rests: Sequence[tuple[str, Candidate]]) -> list[Source]:
    """One for each turn of a ground: of a document it quotes the lines that rest there, so that they go with it."""
    quoted: dict[tuple[str, str], tuple[Source, list[str]]] = {}
    for text, candidate in rests:
        for source in sources_of(learned, candidate):
            quoted.setdefault((source.ground, source.turn_id), (source, []))[1].append(text)
    return [replace(source, quote="\n".join(dict.fromkeys(texts))) for source, texts in quoted.values()]
