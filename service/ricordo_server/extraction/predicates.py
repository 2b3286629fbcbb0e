"""What a first-person sentence says something of, so that a newer one can take its place. English only."""

import re

_LIKES = r"(?:like|love|enjoy|adore|prefer|am into|am a fan of)"
_DISLIKES = (
    r"(?:dislike|hate|can't stand|cannot stand|am not into|no longer (?:like|love|enjoy)|stopped liking)"
)
_NOT = r"(?:do not|don't|never)"
_MANNER = r"(?:(?:really|actually|now|still|also|just|absolutely|always) )*"
_ATTITUDE = re.compile(
    rf"\bi {_MANNER}(?P<verb>{_DISLIKES}|{_NOT} {_MANNER}{_LIKES}|{_LIKES})\b (?P<object>.+)", re.IGNORECASE
)
# Of these there is one at a time, of a person.
_PLACE = re.compile(
    r"\bi(?:'m| am| have|'ve)? (?P<verb>live in|living in|moved to|work (?:at|for|as)|working (?:at|for|as))\b",
    re.IGNORECASE,
)
_SAME_VERB = {"living in": "live in", "moved to": "live in"}
_OWN = re.compile(r"\bmy (?P<name>(?:[\w'-]+ ){0,3}?[\w'-]+) (?:is|are|was|were)(?: now)? ", re.IGNORECASE)
# What a person has several of: another one takes no one's place.
_SEVERAL = frozenset(
    {"friend", "brother", "sister", "cousin", "colleague", "child", "son", "daughter", "goal", "plan"}
)
_TAIL = re.compile(
    r"\b(?:anymore|any more|at all|now|these days|a lot|very much|too much)\b|[.!,;]+$", re.IGNORECASE
)
_APOSTROPHES = str.maketrans("’ʼ", "''")


def predicate_of(sentence: str) -> tuple[str, str] | None:
    """What is spoken of: two sentences of the same contradict or renew one another."""
    plain = " ".join(sentence.translate(_APOSTROPHES).split())
    if found := _ATTITUDE.search(plain):
        return "attitude", _bare(found["object"])
    if found := _PLACE.search(plain):
        verb = found["verb"].lower()
        return "place", _SAME_VERB.get(verb, verb.replace("working", "work"))
    if (found := _OWN.search(plain)) and found["name"].split()[-1].lower() not in _SEVERAL:
        return "own", found["name"].lower()
    return None


def _bare(thing: str) -> str:
    """The thing without what only strengthens or dates the saying: "coffee anymore" is coffee."""
    previous, current = "", thing.lower()
    while current != previous:
        previous, current = current, " ".join(_TAIL.sub(" ", current).split())
    return current
