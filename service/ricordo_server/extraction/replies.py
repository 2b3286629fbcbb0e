"""What a model is asked to answer, and what is made of its reply, whole or not."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from ricordo_server.domain.event_times import parse_event_time
from ricordo_server.domain.extraction import Candidate, ProposedAction, Quote, Utterance
from ricordo_server.domain.memory import (
    EpisodicDetails,
    MemoryKind,
    ProceduralDetails,
    ProfileDetails,
    TaxonomicDetails,
    made_key,
)

ITEMS = "items"
MOST_BRACES = 200
# Of a bounded schema: room for a few facts of each turn, for a time, and no more than decoders take.
ITEMS_PER_TURN = 2
MOST_IN_ITEM = 4
LEAST_CHARACTERS, MOST_CHARACTERS = 40, 1_000
M = TypeVar("M", bound=BaseModel)
Schema: TypeAlias = dict[str, Any]

_DECODER = json.JSONDecoder()
_LIST = re.compile(rf'"{ITEMS}"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class QuoteReply(_Said):
    turn: int
    text: str


class Item(_Said):
    """Every field that is asked for is required, as strict schemas want it; what is not known is null or empty."""

    content: str
    quotes: list[QuoteReply]
    topics: list[str] = []
    event_time: str | None
    event_end_time: str | None

    def fields(self) -> dict[str, Any]:
        """What only this kind has."""
        return {}


class Fact(Item):
    pass


class Episode(Item):
    title: str
    summary: str
    participants: list[str]

    def fields(self) -> dict[str, Any]:
        return {"title": self.title, "details": EpisodicDetails(self.participants, self.summary)}


class Procedure(Item):
    name: str
    description: str
    steps: list[str]
    trigger_conditions: list[str]

    def fields(self) -> dict[str, Any]:
        details = ProceduralDetails(steps=self.steps, trigger_conditions=self.trigger_conditions)
        return {"title": self.name, "key": self.name, "description": self.description, "details": details}


class Term(Item):
    domain: str
    term: str
    related_terms: list[str]

    def fields(self) -> dict[str, Any]:
        details = TaxonomicDetails(self.domain, self.term, self.related_terms)
        return {"key": made_key(self.domain, self.term), "details": details}


class Field(Item):
    schema_id: str
    field: str

    def fields(self) -> dict[str, Any]:
        return {
            "key": made_key(self.schema_id, self.field),
            "details": ProfileDetails(self.schema_id, self.field),
        }


class Verdict(_Said):
    """On the candidate of this number; `known` is the number of the memory it is about."""

    candidate: int
    action: ProposedAction
    known: int | None

    model_config = ConfigDict(extra="forbid", strict=False)  # an enum comes as its text


ITEM_OF_KIND: Mapping[MemoryKind, type[Item]] = {
    MemoryKind.SEMANTIC: Fact,
    MemoryKind.EPISODIC: Episode,
    MemoryKind.PROCEDURAL: Procedure,
    MemoryKind.TAXONOMIC: Term,
    MemoryKind.PROFILE: Field,
}


class NoItemsError(ValueError):
    """The reply holds no usable item. The message is for the model, to answer again."""


@dataclass(frozen=True)
class Parsed(Generic[M]):
    """The items of a reply, and what is wrong with those left out. `cut` when the list does not end."""

    items: Sequence[M]
    faults: Sequence[str]
    cut: bool


def schema_of(item: type[BaseModel], topics: Iterable[str] = ()) -> Schema:
    """The JSON schema of a reply: an object with the list of items, strict in every object.

    An item has topics of those given alone; with none, no topics are asked for.
    """
    schema = item.model_json_schema()
    properties = schema["properties"]
    properties.pop("topics", None)
    if named := list(topics):
        properties["topics"] = {"type": "array", "items": {"type": "string", "enum": named}}
    schema["required"] = list(properties)
    definitions = schema.pop("$defs", {})
    listed = {"type": "object", "properties": {ITEMS: {"type": "array", "items": schema}}}
    return {**listed, "required": [ITEMS], "additionalProperties": False, "$defs": definitions}


def bounded(schema: Schema, utterances: Sequence[Utterance]) -> Schema:
    """The schema of what is learned of these turns, its lists and texts bounded: a quote is no longer than a turn."""
    longest = min(max(len(utterance.text) for utterance in utterances), MOST_CHARACTERS)
    bounds = with_bounds(
        schema, items=ITEMS_PER_TURN * len(utterances), characters=max(longest, LEAST_CHARACTERS)
    )
    quote = bounds["$defs"][QuoteReply.__name__]["properties"]
    quote["turn"] |= {"minimum": 1, "maximum": len(utterances)}
    quote["text"]["maxLength"] = longest
    return bounds


def with_bounds(schema: Schema, *, items: int, characters: int = 0) -> Schema:
    """At most so many items in the reply, and so many characters in each text of theirs that is not an enum's."""
    bounds: Schema = _with_bounds(schema, characters)
    bounds["properties"][ITEMS]["maxItems"] = items
    return bounds


def _with_bounds(schema: Any, characters: int) -> Any:
    if isinstance(schema, list):
        return [_with_bounds(each, characters) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _with_bounds(each, characters) for name, each in schema.items()}
    if schema.get("type") == "array":
        inner["maxItems"] = MOST_IN_ITEM
    if schema.get("type") == "string" and "enum" not in schema:
        inner["maxLength"] = characters
    return inner


def read_reply(reply: str, item: type[M], *, cut: bool = False) -> Parsed[M]:
    """The valid items of a reply, whatever stands around them, up to where it is cut.

    Raises:
        NoItemsError: there is no list of items, or none of them is valid.
    """
    raw, ended = _read_list(reply)
    if raw is None:
        if cut:
            return Parsed([], [], cut=True)
        raise NoItemsError(f'The reply must be one JSON object with the list "{ITEMS}" and nothing else.')
    items: list[M] = []
    faults: list[str] = []
    for number, each in enumerate(raw):
        try:
            items.append(item.model_validate(each))
        except ValidationError as error:
            faults.append(f"{ITEMS}[{number}]: {_describe(error)}")
    if faults and not items:
        raise NoItemsError(f"Every item is invalid: {'; '.join(faults[:3])}. Answer again by the schema.")
    return Parsed(items, faults, cut or not ended)


def _read_list(reply: str) -> tuple[list[Any] | None, bool]:
    """The first object with a list of items, and whether it ends; what came through of it where it does not."""
    for start in _places(reply, "{"):
        try:
            found, _ = _DECODER.raw_decode(reply, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get(ITEMS), list):
            return found[ITEMS], True
    return _salvage(reply), False


def _places(text: str, mark: str) -> list[int]:
    """Where the mark stands; a bound keeps a reply of nothing but braces from costing its square."""
    return [at for at, character in enumerate(text) if character == mark][:MOST_BRACES]


def _salvage(reply: str) -> list[Any] | None:
    """The complete items of a list that was cut."""
    begun = _LIST.search(reply)
    if begun is None:
        return None
    complete: list[Any] = []
    at = begun.end()
    while True:
        at = _BETWEEN.match(reply, at).end()  # type: ignore[union-attr] # it matches nothing, too
        try:
            item, at = _DECODER.raw_decode(reply, at)
        except (ValueError, RecursionError):
            return complete
        complete.append(item)


def _describe(error: ValidationError) -> str:
    """Places and rules, none of the values: they may be a user's words, which belong in no log."""
    faults = error.errors(include_input=False, include_url=False)[:5]
    return ", ".join(f"{_place_of(fault)} {fault['type']}" for fault in faults)


def _place_of(fault: ErrorDetails) -> str:
    """The name of a field that there is none of is the model's own word."""
    places = fault["loc"][:-1] if fault["type"] == "extra_forbidden" else fault["loc"]
    return ".".join(map(str, places))


def candidate_of(
    kind: MemoryKind, item: Item, utterances: Sequence[Utterance], topics: Mapping[str, str]
) -> Candidate:
    """`topics` are those the model was shown, by the names it was shown. Turns are counted from 1 in the prompt; a
    time is in the zone of the first turn quoted.
    """
    quotes = [Quote(quote.turn - 1, quote.text) for quote in item.quotes]
    zone = _zone_of(quotes, utterances)
    start = parse_event_time(item.event_time, zone)
    end = parse_event_time(item.event_end_time, zone, end=True)
    in_order = start is not None and end is not None and start <= end
    return Candidate(
        kind,
        item.content,
        quotes,
        topics=[topics[name] for name in item.topics if name in topics],
        event_time=start,
        event_end_time=end if in_order else None,
        **item.fields(),
    )


def _zone_of(quotes: Sequence[Quote], utterances: Sequence[Utterance]) -> tzinfo:
    places = (quote.utterance for quote in quotes if 0 <= quote.utterance < len(utterances))
    return utterances[next(places, 0)].time.tzinfo or UTC
