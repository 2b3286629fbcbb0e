"""Warnings of older names, told where Python shows them: at the line that uses one."""

import enum
import sys
import warnings
from pathlib import Path

import pydantic

# Code between the caller and the warning: this package, and what looks a word up for it.
_INSIDE = (
    str(Path(__file__).parent),
    enum.__file__,
    str(Path(pydantic.__file__).parent),
)


def warn_deprecated(message: str) -> None:
    """Warns at the caller of this package: Python hides deprecations outside `__main__` and tests."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DeprecationWarning, stacklevel=level)
