"""When something happened, from what a model writes: moments of the user's zone, never prose."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_LAST_MOMENT = timedelta(days=1) - timedelta(microseconds=1)
_ISO_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
# English, German, Italian, Portuguese, Spanish, French.
_DAYS_FROM_TODAY = {
    **dict.fromkeys(("yesterday", "gestern", "ieri", "ontem", "ayer", "hier"), -1),
    **dict.fromkeys(("today", "tonight", "heute", "oggi", "hoje", "hoy", "aujourd'hui"), 0),
    **dict.fromkeys(("tomorrow", "domani", "amanhã", "mañana", "demain"), 1),
}
_NAMED_DAY = re.compile(rf"\b(?:{'|'.join(_DAYS_FROM_TODAY)})\b", re.IGNORECASE)


def zone_named(name: str) -> tzinfo | None:
    """The zone of an IANA name; None when there is none. "UTC" needs no table of zones."""
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder's name, a path, a name too long
        return None


def parse_event_time(text: str | None, zone: tzinfo, *, end: bool = False) -> datetime | None:
    """An ISO date or time as a moment in UTC; None for what is neither.

    A time without an offset is the user's own. A date is its first moment there, or its last where it ends a range.
    """
    try:
        day = date.fromisoformat(text or "")
    except ValueError:
        return _parse_moment(text, zone)
    return _in_utc(datetime.combine(day, time(), zone) + (_LAST_MOMENT if end else timedelta()))


def _parse_moment(text: str | None, zone: tzinfo) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return _in_utc(moment if moment.tzinfo else moment.replace(tzinfo=zone))


def _in_utc(moment: datetime) -> datetime | None:
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # at the ends of the calendar
        return None


def day_mentioned(text: str, said: datetime) -> tuple[datetime | None, datetime | None]:
    """The first day that a text names, from its first moment to its last, seen from when and where it was said."""
    zone = said.tzinfo or UTC
    if found := _ISO_DAY.search(text):
        day = found[0]
    elif found := _NAMED_DAY.search(text.replace("’", "'")):
        try:
            day = (said.date() + timedelta(days=_DAYS_FROM_TODAY[found[0].lower()])).isoformat()
        except OverflowError:
            return None, None
    else:
        return None, None
    return parse_event_time(day, zone), parse_event_time(day, zone, end=True)
