"""What a first-person sentence says something of, so that a newer one can take its place.

In each language by the same rule: what is liked or not, where one lives and works, and what is of one's own.
"""

import re
import unicodedata

# English, Portuguese, Italian, Spanish, French, German. Behind each stands what is liked or not.
_LIKINGS = (
    (
        r"i (?:(?:really|actually|now|still|also|just|absolutely|always|do not|don't|never|no longer) )*"
        r"(?:like|love|enjoy|adore|prefer|am (?:not )?into|am a fan of|dislike|hate|can't stand|cannot stand"
        r"|stopped liking)\b"
    ),
    r"(?:não |já não )?(?:gosto(?: (?:muito|mais|nada))? d[eoa]s?|adoro|amo|odeio|detesto|prefiro)\b",
    r"(?:non )?(?:mi piac(?:e|ciono)|amo|adoro|odio|detesto|preferisco|sopporto)\b(?: (?:molto|tanto|più))*",
    r"(?:ya )?(?:no )?(?:me gustan?|me encantan?|amo|adoro|odio|detesto|prefiero)\b(?: (?:mucho|más|ya))*",
    (
        r"(?:j'(?:aime|adore)|je n'(?:aime|adore)|je (?:ne )?(?:déteste|préfère|supporte|hais))\b"
        r"(?: (?:pas|plus|bien|beaucoup|vraiment))*"
    ),
    r"ich (?:mag|liebe|hasse|bevorzuge)\b",
)
_HOMES = (
    r"i(?:'m| am| have|'ve)? (?:live in|living in|moved to)",
    r"(?:moro|vivo) (?:em|no|na|nos|nas)|mudei(?:-me)? para",
    r"(?:vivo|abito) (?:a|ad|in|nel|nella)|mi sono trasferit[oa] (?:a|ad|in)",
    r"vivo en|me mudé a|me he mudado a",
    r"j'habite|je vis (?:à|en|au|aux|dans)|j'ai (?:déménagé|emménagé) (?:à|en|au|aux|dans)",
    r"ich (?:wohne|lebe) (?:\w+ ){0,3}?(?:in|im|bei|auf)|ich bin (?:\w+ ){0,3}?nach \w+ (?:um)?gezogen",
)
# Some of the verbs are nouns, too, behind an article or a possessive.
_NO_NOUN = r"(?<!un )(?<!il )(?<!el )(?<!o )(?<!mio )(?<!meu )(?<!mi )"
_EMPLOYERS = (
    r"i(?:'m| am| have|'ve)? work(?:ing)? (?:at|for)",
    rf"{_NO_NOUN}trabalho (?:em|no|na|num|numa|para)",
    rf"{_NO_NOUN}lavoro (?:a|in|nel|nella|per|presso)",
    rf"{_NO_NOUN}trabajo (?:en|para)",
    r"je travaille (?:\w+ ){0,2}?(?:à|au|chez|pour|dans|en)",
    r"ich arbeite (?:\w+ ){0,3}?(?:in|im|bei|für)",
)
_TRADES = (
    r"i(?:'m| am| have|'ve)? work(?:ing)? as",
    rf"{_NO_NOUN}(?:trabalho|trabajo) como",
    rf"{_NO_NOUN}lavoro come",
    r"je travaille (?:\w+ ){0,2}?comme",
    r"ich arbeite (?:\w+ ){0,3}?als",
)
_NAME = r"(?P<name>(?:[\w'-]+ ){0,3}?[\w'-]+)"
_POSSESSIONS = (
    rf"my {_NAME} (?:is|are|was|were)(?: now)? ",
    rf"(?:meu|minha) {_NAME} (?:é|era|são|chama-se|se chama) ",
    rf"(?:mio|mia) {_NAME} (?:è|era|si chiama) ",
    rf"mi {_NAME} (?:es|era|se llama) ",
    rf"(?:mon|ma) {_NAME} (?:est|était|s'appelle) ",
    rf"meine? {_NAME} (?:ist|war|heißt) ",
)
# What a person has several of: another one takes no one's place.
_RELATIVES = """
friend brother sister cousin colleague child son daughter goal plan
amigo amiga irmão irmã primo prima colega filho filha
amico amica fratello sorella cugino cugina collega figlio figlia
hermano hermana hijo hija compañero compañera
ami amie frère sœur cousine collègue fils fille
freund freundin bruder schwester cousin cousine kollege kollegin kind sohn tochter
"""
_SEVERAL = frozenset(_RELATIVES.split())
_ARTICLE = re.compile(r"^(?:the|os?|as?|il|lo|la|i|gli|le|el|los|las|les|du|des|de|der|die|das|den) |^l'")
_FILLER = re.compile(
    r"\b(?:anymore|any more|at all|now|these days|a lot|very much|too much|mais|agora|molto|più|adesso|ahora|mucho"
    r"|maintenant|nicht|mehr|kein|keine|keinen|jetzt|sehr)\b|[.!,;]+$"
)
_APOSTROPHES = str.maketrans("’ʼ", "''")


def _any_of(patterns: tuple[str, ...], behind: str = "") -> list[re.Pattern[str]]:
    return [re.compile(rf"\b(?:{pattern}){behind}") for pattern in patterns]


_LIKED = _any_of(_LIKINGS, " (?P<object>.+)")
# Of these there is one at a time, of a person.
_PLACES = {
    "home": _any_of(_HOMES, r"\b"),
    "employer": _any_of(_EMPLOYERS, r"\b"),
    "trade": _any_of(_TRADES, r"\b"),
}
_OWN = _any_of(_POSSESSIONS)


def predicate_of(sentence: str) -> tuple[str, str] | None:
    """What is spoken of: two sentences of the same contradict or renew one another."""
    plain = " ".join(unicodedata.normalize("NFC", sentence).translate(_APOSTROPHES).lower().split())
    if found := _search(_LIKED, plain):
        return "attitude", _bare(found["object"])
    for name, patterns in _PLACES.items():
        if _search(patterns, plain):
            return "place", name
    if (found := _search(_OWN, plain)) and _SEVERAL.isdisjoint(found["name"].split()[-1:]):
        return "own", found["name"]
    return None


def _search(patterns: list[re.Pattern[str]], text: str) -> re.Match[str] | None:
    return next((found for pattern in patterns if (found := pattern.search(text))), None)


def _bare(thing: str) -> str:
    """The thing without what only strengthens or dates the saying: "coffee anymore" is coffee."""
    previous, current = "", thing
    while current != previous:
        previous, current = current, _ARTICLE.sub("", " ".join(_FILLER.sub(" ", current).split()))
    return current
