"""How a project has memories learned from turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

from ricordo_server.domain.consolidation import Trust
from ricordo_server.domain.event_times import zone_named
from ricordo_server.domain.extraction import EXTRACTED_KINDS, Example, Guidance, Person, Topic
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.metadata import Metadata
from ricordo_server.domain.promotion import PromotionTriggers

# The key of a session's metadata that names its user's zone.
ZONE_KEY = "time_zone"

# New values by field name of ExtractionPolicy; of `triggers` a mapping of the same kind.
PolicyChanges = Mapping[str, object]


@dataclass(frozen=True)
class ExtractionPolicy:
    """`enabled` turns recorded turns into memories in the background, when `triggers` say.

    `endpoint` is a name from the server's configuration, `model` one of that endpoint; empty: their defaults.

    `prompts` take the place of a kind's own text. With topics, only what is about one of them is learned. What rests
    on words trusted less than `least_trust` is held back for review.
    """

    enabled: bool = True
    triggers: PromotionTriggers = field(default_factory=PromotionTriggers)
    kinds: Sequence[MemoryKind] = EXTRACTED_KINDS
    endpoint: str = ""
    model: str = ""
    prompts: Mapping[MemoryKind, str] = field(default_factory=dict)
    topics: Sequence[Topic] = ()
    examples: Sequence[Example] = ()
    time_zone: str = "UTC"
    person: Person = Person.FIRST
    least_trust: Trust = Trust.OTHER

    def changed(self, changes: PolicyChanges) -> "ExtractionPolicy":
        given = dict(changes)
        if "triggers" in given:
            given["triggers"] = replace(self.triggers, **given["triggers"])  # type: ignore[arg-type]
        return replace(self, **given)  # type: ignore[arg-type]

    def about(self, allowed: Sequence[str]) -> "ExtractionPolicy":
        """These topics in place of its own, with its descriptions of those that it knows; none: as it is."""
        known = {topic.name: topic for topic in self.topics}
        return replace(self, topics=[known.get(name, Topic(name)) for name in allowed]) if allowed else self

    def told(self, instructions: str) -> "ExtractionPolicy":
        """These in place of the prompts, but for profiles, whose schemas say what is wanted; empty: as it is."""
        if not instructions:
            return self
        kinds = [kind for kind in EXTRACTED_KINDS if kind is not MemoryKind.PROFILE]
        return replace(self, prompts={**self.prompts, **dict.fromkeys(kinds, instructions)})

    def guidance(self, kind: MemoryKind) -> Guidance:
        """Topics and examples are of what is told in sentences, not of the fields of a profile."""
        if kind is MemoryKind.PROFILE:
            return Guidance(self.model, self.prompts.get(kind, ""))
        return Guidance(self.model, self.prompts.get(kind, ""), self.topics, self.examples, self.person)

    def zone(self, session_metadata: Metadata) -> tzinfo:
        """The zone of a session's user, else the project's."""
        named = session_metadata.get(ZONE_KEY)
        return (zone_named(named) if isinstance(named, str) else None) or zone_named(self.time_zone) or UTC
