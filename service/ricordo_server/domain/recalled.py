"""Takes out of a turn what this service itself had put there: a memory recalled is not learned again.

Every context it renders holds `rendering.NOTE`, whatever the format. What stands around the note as a context does is
cut out; what the turn says before and after stays.
"""

import re

from ricordo_server.domain.rendering import NOTE

_XML = re.compile(rf"<context>\s*{re.escape(NOTE)}.*?(?:</context>|\Z)", re.DOTALL)
# The lines of a Markdown context: headings, items, quoted bodies, nothing. The first other line ends it.
_MARKDOWN = re.compile(rf"(?:^# Memory\s*\n)?^\s*{re.escape(NOTE)}(?:\n+(?:## |- |  >).*)*", re.MULTILINE)


def without_recalled(text: str) -> str:
    """The text without recalled context; empty when there is nothing else."""
    if NOTE not in text:
        return text
    return _MARKDOWN.sub("", _XML.sub("", text)).replace(NOTE, "").strip()
