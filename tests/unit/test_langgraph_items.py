"""Items of a LangGraph store: every place has a path of its own, and namespaces match as LangGraph says."""

import re

from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import MatchCondition

from ricordo.langgraph.items import matches, path_of, place_of, prefix_of

LABEL = st.text(max_size=6) | st.sampled_from(["", ".", "..", "%", "%_", "%2E", "%252F", "a/b", "\0"])
NAMESPACE = st.lists(LABEL, max_size=4).map(tuple)


@given(NAMESPACE, LABEL)
def test_an_item_comes_back_from_its_path(namespace: tuple[str, ...], key: str) -> None:
    assert place_of(path_of(namespace, key)) == (namespace, key)


@given(NAMESPACE, LABEL)
def test_a_path_is_one_for_the_server(namespace: tuple[str, ...], key: str) -> None:
    segments = path_of(namespace, key).split("/")[1:]
    assert not {"", ".", ".."}.intersection(segments)
    assert "\0" not in path_of(namespace, key)


@given(NAMESPACE, NAMESPACE, LABEL)
def test_a_prefix_begins_the_paths_below_it_and_no_others(
    prefix: tuple[str, ...], namespace: tuple[str, ...], key: str
) -> None:
    is_below = namespace[: len(prefix)] == prefix
    assert path_of(namespace, key).startswith(prefix_of(prefix)) == is_below


LETTERS = st.lists(st.sampled_from("ab"), max_size=4).map(tuple)
PATTERN = st.lists(st.sampled_from("ab*"), max_size=3).map(tuple)


@given(LETTERS, PATTERN, st.sampled_from(["prefix", "suffix"]))
def test_a_namespace_matches_as_a_pattern_of_its_labels(
    namespace: tuple[str, ...], pattern: tuple[str, ...], kind: str
) -> None:
    expression = "".join("." if label == "*" else label for label in pattern)
    written = "".join(namespace)
    expected = re.match(expression, written) if kind == "prefix" else re.search(f"{expression}$", written)
    condition = MatchCondition(match_type=kind, path=pattern)  # type: ignore[arg-type]
    assert matches(namespace, condition) == bool(expected)
