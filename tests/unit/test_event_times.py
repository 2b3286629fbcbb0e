from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.event_times import day_mentioned, parse_event_time, zone_named

NEW_YORK = ZoneInfo("America/New_York")


def test_a_time_without_an_offset_is_the_users() -> None:
    assert parse_event_time("2025-03-01T18:30", NEW_YORK) == datetime(2025, 3, 1, 23, 30, tzinfo=UTC)


def test_a_time_with_an_offset_is_what_it_says() -> None:
    assert parse_event_time("2025-03-01T18:30+01:00", NEW_YORK) == datetime(2025, 3, 1, 17, 30, tzinfo=UTC)


def test_a_date_lasts_the_users_day() -> None:
    start, end = (parse_event_time("2025-03-01", NEW_YORK, end=end) for end in (False, True))
    assert start == datetime(2025, 3, 1, 5, tzinfo=UTC)
    assert end == datetime(2025, 3, 2, 4, 59, 59, 999_999, tzinfo=UTC)


@pytest.mark.parametrize("text", [None, "", "yesterday", "2025-13-01", "9999-12-31T23:59-23:00", "2025"])
def test_what_is_no_moment_is_none(text: str | None) -> None:
    assert parse_event_time(text, NEW_YORK) is None


@given(st.text(max_size=40))
def test_no_text_is_an_error(text: str) -> None:
    found = parse_event_time(text, NEW_YORK)
    assert found is None or found.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("text", "day"), [("We met yesterday.", 1), ("Demain on part", 3), ("on 2025-03-09 or so", 9)]
)
def test_a_day_is_seen_from_where_it_was_said(text: str, day: int) -> None:
    late = datetime(2025, 3, 2, 23, tzinfo=NEW_YORK)  # the third of March in UTC
    start, _ = day_mentioned(text, late)
    assert start is not None
    assert start.astimezone(NEW_YORK).date() == datetime(2025, 3, day, tzinfo=UTC).date()


@pytest.mark.parametrize("name", ["", "Nowhere/Else", "../etc", "a" * 300, "Europe"])
def test_a_zone_that_is_not_there_is_none(name: str) -> None:
    assert zone_named(name) is None
