"""Sentences of a text, and whose they are, without a model: letters and marks, in several languages."""

import re

# A full stop inside "3.5" or "e.g." ends nothing: white space or the end must follow, but after marks of scripts
# that are written without spaces.
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_QUESTION = ("?", "？", "؟")
LONGEST_SENTENCE = 400
FEWEST_WORDS = 3

# Pronouns and possessives of the first person singular: English, German, Italian, Portuguese, Spanish, French,
# Dutch. "I" stands in its contractions too. Languages that leave the pronoun
# out are found by the possessive, and by the verbs of `predicates`.
_PRONOUNS = """
i i'm i've i'd i'll my mine me ich mein meine meinen meiner meinem mir mich io mio mia miei mie mi eu meu minha meus
minhas yo mis je j'ai j'aime j'habite mon ma mes ik mijn
"""
_FIRST_PERSON = frozenset(_PRONOUNS.split())
_FIRST_PERSON_CHARACTERS = ("我", "私", "僕", "俺", "저는", "나는", "제 ", "내 ")


def split_sentences(text: str) -> list[str]:
    return [part for piece in _END.split(text) if (part := piece.strip())]


def words_of(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def is_statement(sentence: str) -> bool:
    """Long enough to say something, short enough to be one thing, and no question."""
    if sentence.rstrip("\"'”’)» ").endswith(_QUESTION) or len(sentence) > LONGEST_SENTENCE:
        return False
    return len(words_of(sentence)) >= FEWEST_WORDS or _has_long_word(sentence)


def _has_long_word(sentence: str) -> bool:
    """Scripts without spaces make one word of a sentence."""
    return any(len(word) >= 2 * FEWEST_WORDS and not word.isascii() for word in words_of(sentence))


def is_about_speaker(sentence: str) -> bool:
    """Whether it speaks in the first person singular."""
    if any(mark in sentence for mark in _FIRST_PERSON_CHARACTERS):
        return True
    return not _FIRST_PERSON.isdisjoint(words_of(sentence))
