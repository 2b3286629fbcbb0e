"""The extractor without a model."""

from datetime import UTC, datetime

import pytest

from ricordo_server.domain.extraction import (
    ADD,
    Candidate,
    Compared,
    ExtractionRequest,
    Guidance,
    Proposal,
    ProposedAction,
    Topic,
    Utterance,
)
from ricordo_server.domain.memory import MemoryKind, ProceduralDetails
from ricordo_server.domain.spans import keep_quoted
from ricordo_server.extraction.builtin import BuiltinExtractor
from tests.fixtures.memories import a_memory
from tests.fixtures.meter import Meter

SEMANTIC, EPISODIC = MemoryKind.SEMANTIC, MemoryKind.EPISODIC
PROCEDURAL, TAXONOMIC = MemoryKind.PROCEDURAL, MemoryKind.TAXONOMIC
SAID = datetime(2025, 3, 2, 12, tzinfo=UTC)


async def extract(
    kind: MemoryKind, *texts: str, role: str = "user", guidance: Guidance | None = None
) -> list[Candidate]:
    said = [Utterance(f"t{number}", role, text, SAID) for number, text in enumerate(texts)]
    found = await BuiltinExtractor().extract(
        ExtractionRequest(kind, said, guidance=guidance or Guidance()), Meter()
    )
    quoted, dropped = keep_quoted(found.candidates, said)
    assert dropped == 0  # whatever it finds, it quotes
    return quoted


async def facts(*texts: str, role: str = "user") -> list[str]:
    return [candidate.content for candidate in await extract(SEMANTIC, *texts, role=role)]


async def test_what_users_say_of_themselves_is_a_fact() -> None:
    said = "Hi there! I live in Rome. Do I like it? The weather is fine. My cat is called Leo."
    assert await facts(said) == ["I live in Rome.", "My cat is called Leo."]


async def test_what_others_say_is_none() -> None:
    assert await facts("I live in Rome and I am a model.", role="assistant") == []


@pytest.mark.parametrize(
    "said",
    [
        "Ich wohne seit März in Berlin.",
        "Io abito a Torino da un anno.",
        "Minha filha estuda medicina em Lisboa.",
        "J'habite à Lyon depuis deux ans.",
        "Yo trabajo en un hospital.",
        "Vivo a Roma da un anno.",
        "Gosto de café sem açúcar.",
        "Me gusta el té verde.",
        "我下个月要搬到上海。",
        "私は東京に住んでいます。",
    ],
)
async def test_a_fact_stays_in_its_language(said: str) -> None:
    assert await facts(said) == [said]


async def test_what_is_to_be_remembered_is_a_fact_whoever_it_is_about() -> None:
    assert await facts("Remember that Anna's birthday is in May.") == [
        "Remember that Anna's birthday is in May."
    ]


async def test_a_day_that_is_named_is_the_time_of_the_fact() -> None:
    [candidate] = await extract(SEMANTIC, "I went to the dentist yesterday.")
    assert candidate.event_time == datetime(2025, 3, 1, tzinfo=UTC)
    assert candidate.event_end_time == datetime(2025, 3, 1, 23, 59, 59, 999_999, tzinfo=UTC)


async def test_topics_are_told_apart() -> None:
    guidance = Guidance(topics=[Topic("custom:cat"), Topic("custom:dog")])
    found = await extract(SEMANTIC, "I love my cat.", "I live in Rome.", guidance=guidance)
    assert [candidate.topics for candidate in found] == [
        ["managed:USER_PREFERENCES", "custom:cat"],
        ["managed:USER_PERSONAL_INFO"],
    ]


async def test_an_episode_is_made_of_sentences_of_the_conversation_in_order() -> None:
    texts = [f"The garden needs water on day {day}. Nothing else happened." for day in range(9)]
    [episode] = await extract(EPISODIC, *texts)
    lines = episode.content.splitlines()
    assert len(lines) == 5
    assert lines == sorted(lines)
    assert (episode.event_time, episode.event_end_time) == (SAID, SAID)


async def test_an_episode_is_of_what_was_talked_about_and_not_of_thanks() -> None:
    told = ["We planted seven apple trees.", "The apple trees want much water.", "A storm broke the fence."]
    said = [part for each in told for part in (f"Ann: {each}", "Ann: Thanks, Melanie!", "Melanie: Wow, Ann!")]
    [episode] = await extract(EPISODIC, *said)
    assert episode.content.splitlines() == [f"user: Ann: {each}" for each in told]


async def test_an_episode_says_nothing_twice_while_something_is_left_to_say() -> None:
    again = ["The garden needs water, says Ann."] * 5
    others = [f"The garden has {thing} and needs work." for thing in ("roses", "weeds", "ponds", "snails")]
    [episode] = await extract(EPISODIC, *again, *others, *others)
    assert len(set(episode.content.splitlines())) == 5


async def test_greetings_are_no_episode() -> None:
    assert await extract(EPISODIC, "Hi!", "Hello?", "How are you?") == []


async def test_a_definition_is_a_term() -> None:
    [term] = await extract(TAXONOMIC, "An SLO is a target for a service level. It is a good thing to have.")
    assert (term.content, term.key) == ("An SLO is a target for a service level.", '["general","SLO"]')


async def test_numbered_lines_are_a_procedure_with_the_name_of_the_line_before() -> None:
    text = "To make tea:\n1. Boil water.\n2) Add leaves.\n3. Wait.\nThat is all. 1. Once.\n\n1. alone"
    [procedure] = await extract(PROCEDURAL, text)
    assert procedure.key == "To make tea"
    assert procedure.details == ProceduralDetails(steps=["Boil water.", "Add leaves.", "Wait."])


async def test_to_do_something_then_something_is_a_procedure() -> None:
    [procedure] = await extract(
        PROCEDURAL, "To restart the pump: open the lid, then press reset; close the lid."
    )
    assert procedure.key == "restart the pump"
    assert procedure.details == ProceduralDetails(steps=["open the lid", "press reset", "close the lid"])


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I don't like coffee.", "I really like coffee now!"),
        ("I love sushi", "I can’t stand sushi anymore."),
        ("I live in Rome.", "I've moved to Berlin."),
        ("My favourite colour is blue.", "My favourite colour is now red."),
        ("Não gosto de café.", "Gosto muito de café agora!"),
        ("Moro no Porto.", "Mudei-me para Lisboa."),
        ("Minha gata se chama Mia.", "Minha gata se chama Lua."),
        ("Mi piace il caffè.", "Non mi piace più il caffè."),
        ("Abito a Torino.", "Mi sono trasferita a Roma."),
        ("Lavoro in banca.", "Lavoro per una casa editrice."),
        ("Me gusta el café.", "Ya no me gusta el café."),
        ("Vivo en Madrid.", "Me mudé a Sevilla."),
        ("J'aime le café.", "Je n’aime plus le café."),
        ("J'habite à Lyon.", "J'ai déménagé à Paris."),
        ("Ich mag Kaffee.", "Ich mag keinen Kaffee mehr."),
        ("Ich wohne in Köln.", "Ich bin letzte Woche nach Berlin gezogen."),
        ("Mein Hund heißt Bello.", "Mein Hund heißt Rex."),
    ],
)
async def test_a_newer_sentence_about_the_same_thing_takes_the_place_of_the_older(
    older: str, newer: str
) -> None:
    known = [a_memory("I have a cat."), a_memory(older)]
    compared = [Compared(Candidate(SEMANTIC, newer, []), known)]
    assert await BuiltinExtractor().propose(compared, Guidance(), Meter()) == [
        Proposal(ProposedAction.UPDATE, known[1])
    ]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I like coffee.", "I don't like tea."),
        ("My brother is Tom.", "My brother is Tim."),
        ("Yes, I do.", "I do."),
        ("I work at a bank.", "I work as a nurse."),
        ("I love the queue.", "I stand in the queue."),
        ("Lavoro in banca.", "Cerco un lavoro in un teatro."),
        ("Mio fratello è Tom.", "Mio fratello è Tim."),
        ("Gosto de chá.", "Não gosto de café."),
        ("Ich mag Tee.", "Ich mag keinen Kaffee."),
    ],
)
async def test_a_sentence_about_another_thing_is_added(older: str, newer: str) -> None:
    compared = [Compared(Candidate(SEMANTIC, newer, []), [a_memory(older)])]
    assert await BuiltinExtractor().propose(compared, Guidance(), Meter()) == [ADD]
