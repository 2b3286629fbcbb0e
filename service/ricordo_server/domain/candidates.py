"""What of an extractor's answer may be stored: within the limits of a memory, and said once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ricordo_server.domain.consolidation import is_trusted_less, trust_in
from ricordo_server.domain.extraction import Candidate, Utterance
from ricordo_server.domain.limits import (
    MAX_CONTENT_BYTES,
    MAX_DESCRIPTION_BYTES,
    MAX_LIST_ITEMS,
    MAX_MADE_KEY_BYTES,
    MAX_NAME_BYTES,
    MAX_TAGS,
    MAX_TITLE_BYTES,
)
from ricordo_server.domain.memory import (
    Details,
    EpisodicDetails,
    MemoryKind,
    ProceduralDetails,
    ProfileDetails,
    TaxonomicDetails,
)
from ricordo_server.domain.profile_schema import ProfileSchema, ProfileSchemaError


def keep_storable(candidates: Iterable[Candidate]) -> tuple[list[Candidate], int]:
    """The candidates as they can be stored, and how many cannot: what is said is never cut, what names it is."""
    kept: list[Candidate] = []
    dropped = 0
    for candidate in candidates:
        storable = _storable(candidate)
        if storable is None:
            dropped += 1
        else:
            kept.append(storable)
    return kept, dropped


def _storable(candidate: Candidate) -> Candidate | None:
    content = _clean(candidate.content)
    key = candidate.key and _clean(candidate.key)
    if not content or len(content.encode()) > MAX_CONTENT_BYTES or _is_bad_key(candidate, key):
        return None
    return replace(
        candidate,
        content=content,
        key=key,
        title=_cut(candidate.title, MAX_TITLE_BYTES),
        description=_cut(candidate.description, MAX_DESCRIPTION_BYTES),
        details=_details(candidate.details),
    )


def _is_bad_key(candidate: Candidate, key: str | None) -> bool:
    """A term without a word and a procedure without a name are of no use to anybody."""
    if candidate.kind is MemoryKind.TAXONOMIC:
        details = candidate.details
        named = isinstance(details, TaxonomicDetails) and details.domain.strip() and details.term.strip()
        return not named or key is None or len(key.encode()) > MAX_MADE_KEY_BYTES
    if candidate.kind is MemoryKind.PROCEDURAL:
        return not key or len(key.encode()) > MAX_NAME_BYTES
    return False


def _details(details: Details | None) -> Details | None:
    match details:
        case EpisodicDetails(participants, summary):
            return EpisodicDetails(_names(participants, MAX_TAGS), _cut(summary, MAX_DESCRIPTION_BYTES))
        case ProceduralDetails(steps=steps, trigger_conditions=triggers):
            return replace(
                details,
                steps=_names(steps, MAX_LIST_ITEMS, MAX_DESCRIPTION_BYTES),
                trigger_conditions=_names(triggers, MAX_LIST_ITEMS, MAX_DESCRIPTION_BYTES),
            )
        case TaxonomicDetails(related_terms=related):
            return replace(details, related_terms=_names(related, MAX_TAGS))
    return details


def _names(texts: Sequence[str], most: int, limit: int = MAX_NAME_BYTES) -> list[str]:
    return [cut for text in texts if (cut := _cut(text, limit))][:most]


def _cut(text: str, limit: int) -> str:
    return _clean(text).encode()[:limit].decode(errors="ignore")


def _clean(text: str) -> str:
    """Without what PostgreSQL cannot hold: NUL and lone surrogates."""
    return text.replace("\x00", "").encode(errors="ignore").decode().strip()


def keep_conforming(
    candidates: Iterable[Candidate], schemas: Sequence[ProfileSchema]
) -> tuple[list[Candidate], int]:
    """Those that are no fields of a profile, or what its schema allows, and how many are not."""
    by_id = {schema.schema_id: schema for schema in schemas}
    found = list(candidates)
    kept = [each for each in found if _conforms(each, by_id)]
    return kept, len(found) - len(kept)


def _conforms(candidate: Candidate, schemas: Mapping[str, ProfileSchema]) -> bool:
    details = candidate.details
    if not isinstance(details, ProfileDetails):
        return True
    if details.schema_id not in schemas:
        return False
    try:
        schemas[details.schema_id].value_of(details.field_name, candidate.content)
    except ProfileSchemaError:
        return False
    return True


def keep_topics(candidates: Iterable[Candidate], allowed: Sequence[str]) -> tuple[list[Candidate], int]:
    """Those about one of the allowed topics, with these alone, and how many are about none; no topics: all."""
    if not allowed:
        return list(candidates), 0
    kept, dropped = [], 0
    for candidate in candidates:
        topics = [topic for topic in candidate.topics if topic in allowed]
        if topics:
            kept.append(replace(candidate, topics=topics))
        else:
            dropped += 1
    return kept, dropped


def keep_latest(candidates: Sequence[Candidate], utterances: Sequence[Utterance]) -> list[Candidate]:
    """Of several with one key the one that is trusted most, and of these the one that was said last."""
    chosen: dict[str, Candidate] = {}
    for each in candidates:
        before = chosen.get(each.key) if each.key is not None else None
        if each.key is not None and not (
            before and is_trusted_less(trust_in(each, utterances), trust_in(before, utterances))
        ):
            chosen[each.key] = each
    return [each for each in candidates if each.key is None or chosen[each.key] is each]
