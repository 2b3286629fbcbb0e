"""Extraction without a model: rules over sentences, the same answer each time, every candidate a quotation.

It makes the whole road run without a key and is the control that a language model is measured against. It understands
nothing: it finds what is said in so many words, in the language it is said in.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from math import fsum, log

from ricordo_server.domain.event_times import day_mentioned
from ricordo_server.domain.extraction import (
    ADD,
    Candidate,
    Compared,
    Extraction,
    ExtractionRequest,
    Guidance,
    Proposal,
    ProposedAction,
    Quote,
    TokenMeter,
    Utterance,
)
from ricordo_server.domain.memory import (
    CUSTOM_TOPIC,
    MANAGED_TOPIC,
    EpisodicDetails,
    ManagedTopic,
    MemoryKind,
    ProceduralDetails,
    TaxonomicDetails,
    made_key,
)
from ricordo_server.extraction.predicates import predicate_of
from ricordo_server.extraction.sentences import (
    is_about_speaker,
    is_statement,
    split_sentences,
    words_of,
)

RULES_VERSION = "rules-2"
EPISODE_SENTENCES = 5
# Shorter ones are greetings and thanks; a conversation of nothing else has them for its episode.
FEWEST_EPISODE_WORDS = 5
SHORT_WORD = 3
LENGTH_BALANCE = 10
TITLE_CHARACTERS = 80
# Of every term: rules do not tell fields of knowledge apart.
DOMAIN = "general"
FEWEST_STEPS = 2

# "RAG means ...", "An SLO is ...": a term of at most four words that begins the sentence.
_DEFINITION = re.compile(
    r"^(?:(?:an?|the) )?(?P<term>[\w][\w./+-]*(?: [\w./+-]+){0,3}?) "
    r"(?:means|stands for|is short for|refers to|is defined as|is (?:an?|the|when|where|our)\b) ?(?P<meaning>.{8,})$",
    re.IGNORECASE | re.DOTALL,
)
# What begins like a term and is none.
_OPENINGS = """
i you he she it we they this that these those there here who what which where when why how my your his her its our
their and but so if yes no everything something nothing everyone someone today tomorrow yesterday
"""
_NO_TERM = frozenset(_OPENINGS.split())
_NUMBERED = re.compile(r"^\s*(?:step\s+)?(?P<number>\d{1,2})[.):]\s+(?P<step>\S.*)$", re.IGNORECASE)
_TO_DO = re.compile(r"^(?:how )?to (?P<name>[^:.!?\n]{3,80}):\s*(?P<steps>\S.*)$", re.IGNORECASE)
_STEP_BREAK = re.compile(r"\s*(?:;|, then |\. then |\bthen )\s*", re.IGNORECASE)
_REMEMBER = re.compile(r"\b(?:remember|don't forget|keep in mind|note that)\b", re.IGNORECASE)

Reader = Callable[[Sequence[Utterance]], Iterator[Candidate]]


class BuiltinExtractor:
    """The extractor `builtin`."""

    follows_instructions = False

    async def extract(self, request: ExtractionRequest, meter: TokenMeter) -> Extraction:
        read: Reader = _READERS[request.kind]
        topics = [topic.name for topic in request.guidance.topics]
        found = [_with_topics(candidate, topics) for candidate in read(request.utterances)]
        return Extraction(found, request.utterances, model="builtin", prompt_version=RULES_VERSION)

    async def propose(
        self, compared: Sequence[Compared], guidance: Guidance, meter: TokenMeter
    ) -> list[Proposal]:
        """A newer sentence about the same thing takes the place of the older one."""
        return [_propose(each) for each in compared]

    async def aclose(self) -> None:
        """It holds nothing."""


def _propose(compared: Compared) -> Proposal:
    subject = predicate_of(compared.candidate.content)
    if subject is not None:
        for memory in compared.known:
            if predicate_of(memory.content) == subject:
                return Proposal(ProposedAction.UPDATE, memory)
    return ADD


def _facts(utterances: Sequence[Utterance]) -> Iterator[Candidate]:
    """What users say of themselves; of two sayings of the same thing the later."""
    said = list(_sayings(utterances))
    last = {predicate_of(sentence): place for place, (_, sentence) in enumerate(said)}
    for place, (at, sentence) in enumerate(said):
        subject = predicate_of(sentence)
        if subject is not None and last[subject] != place:
            continue
        start, end = day_mentioned(sentence, utterances[at].time)
        yield Candidate(
            MemoryKind.SEMANTIC,
            sentence,
            [Quote(at, sentence)],
            topics=[_topic(sentence)],
            event_time=start,
            event_end_time=end,
        )


def _sayings(utterances: Sequence[Utterance]) -> Iterator[tuple[int, str]]:
    for at, utterance in enumerate(utterances):
        if utterance.role.lower() == "user":
            for sentence in split_sentences(utterance.text):
                if is_statement(sentence) and _is_fact(sentence):
                    yield at, sentence


def _is_fact(sentence: str) -> bool:
    """Some languages leave the pronoun out: the verb says who speaks."""
    spoken_of = is_about_speaker(sentence) or predicate_of(sentence)
    return bool(spoken_of or _REMEMBER.search(sentence))


def _topic(sentence: str) -> str:
    subject = predicate_of(sentence)
    if _REMEMBER.search(sentence):
        topic = ManagedTopic.EXPLICIT_INSTRUCTIONS
    elif subject and subject[0] == "attitude":
        topic = ManagedTopic.USER_PREFERENCES
    elif subject:
        topic = ManagedTopic.USER_PERSONAL_INFO
    else:
        topic = ManagedTopic.KEY_CONVERSATION_DETAILS
    return MANAGED_TOPIC + topic


def _with_topics(candidate: Candidate, wanted: Sequence[str]) -> Candidate:
    """Labels of the project's own are matched by their words."""
    words = set(words_of(candidate.content))
    labels = [name for name in wanted if name.startswith(CUSTOM_TOPIC)]
    matched = [name for name in labels if words.issuperset(words_of(name.removeprefix(CUSTOM_TOPIC)))]
    return replace(candidate, topics=[*candidate.topics, *matched])


def _episode(utterances: Sequence[Utterance]) -> Iterator[Candidate]:
    """What the conversation comes back to, in sentences that each add something, in the order they were said."""
    said = [
        (at, sentence)
        for at, utterance in enumerate(utterances)
        for sentence in split_sentences(utterance.text)
        if is_statement(sentence)
    ]
    if not said:
        return
    telling = [each for each in said if len(words_of(each[1])) >= FEWEST_EPISODE_WORDS] or said
    ranked = _most_telling([sentence for _, sentence in telling], EPISODE_SENTENCES)
    chosen = [telling[number] for number in sorted(ranked)]
    lines = [f"{utterances[at].role}: {sentence}" for at, sentence in chosen]
    best = telling[ranked[0]][1]
    yield Candidate(
        MemoryKind.EPISODIC,
        "\n".join(lines),
        [Quote(at, sentence) for at, sentence in chosen],
        title=_shortened(best),
        details=EpisodicDetails(list(dict.fromkeys(utterance.role for utterance in utterances)), best),
        topics=[MANAGED_TOPIC + ManagedTopic.KEY_CONVERSATION_DETAILS],
        event_time=utterances[0].time,
        event_end_time=max(utterance.time for utterance in utterances),
    )


def _most_telling(sentences: Sequence[str], most: int) -> list[int]:
    """The places of those that tell most, best first. A word counts the more often it is said, and once: names and
    thanks, which are in every other sentence, else make all episodes alike.
    """
    words = [set(words_of(sentence)) for sentence in sentences]
    times = Counter(word for of_one in words for word in of_one if len(word) > SHORT_WORD)
    chosen: list[int] = []
    told = set[str]()
    while len(chosen) < min(most, len(sentences)):
        left = (place for place in range(len(sentences)) if place not in chosen)
        best = max(left, key=lambda place: _weight(words[place], told, times))
        chosen.append(best)
        told |= words[best]
    return chosen


def _weight(words: Set[str], told: Set[str], times: Mapping[str, int]) -> float:
    """Words that are said once say nothing of the whole; long sentences do not win by length alone."""
    weights = (log(times.get(word, 1)) for word in words - told)
    return fsum(weights) / (len(words) + LENGTH_BALANCE)  # whatever order a set has, the same sum


def _shortened(text: str) -> str:
    return text if len(text) <= TITLE_CHARACTERS else text[: TITLE_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"


def _terms(utterances: Sequence[Utterance]) -> Iterator[Candidate]:
    for at, utterance in enumerate(utterances):
        for sentence in split_sentences(utterance.text):
            found = _DEFINITION.match(sentence)
            if found is None or not is_statement(sentence) or is_about_speaker(sentence):
                continue
            term = found["term"]
            if _NO_TERM.isdisjoint(words_of(term)):
                yield Candidate(
                    MemoryKind.TAXONOMIC,
                    sentence,
                    [Quote(at, sentence)],
                    key=made_key(DOMAIN, term),
                    details=TaxonomicDetails(DOMAIN, term),
                )


def _procedures(utterances: Sequence[Utterance]) -> Iterator[Candidate]:
    for at, utterance in enumerate(utterances):
        yield from _numbered(at, utterance.text.splitlines())
        for line in utterance.text.splitlines():
            if found := _TO_DO.match(line.strip()):
                steps = [step.rstrip(".") for step in _STEP_BREAK.split(found["steps"]) if step.strip(" .")]
                if len(steps) >= FEWEST_STEPS:
                    yield _procedure(found["name"], steps, [Quote(at, line.strip())])


def _numbered(at: int, lines: Sequence[str]) -> Iterator[Candidate]:
    """Runs of lines numbered from 1; the line before a run names it."""
    name, steps, quotes = "", list[str](), list[Quote]()
    for line in [*lines, ""]:
        found = _NUMBERED.match(line)
        if found and int(found["number"]) == len(steps) + 1:
            steps.append(found["step"].strip())
            quotes.append(Quote(at, line.strip()))
            continue
        if len(steps) >= FEWEST_STEPS:
            yield _procedure(name or steps[0], steps, quotes)
        if line.strip() or steps:
            name, steps, quotes = line.strip().rstrip(":"), [], []


def _procedure(name: str, steps: Sequence[str], quotes: Sequence[Quote]) -> Candidate:
    written = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return Candidate(
        MemoryKind.PROCEDURAL,
        written,
        quotes,
        title=_shortened(name),
        key=_shortened(name),
        details=ProceduralDetails(steps=list(steps)),
    )


_READERS: Mapping[MemoryKind, Reader] = {
    MemoryKind.SEMANTIC: _facts,
    MemoryKind.EPISODIC: _episode,
    MemoryKind.TAXONOMIC: _terms,
    MemoryKind.PROCEDURAL: _procedures,
    MemoryKind.PROFILE: lambda utterances: iter(()),  # rules do not know which field a sentence is about
}
