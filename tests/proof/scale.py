"""How many cases of what takes long: RICORDO_PROOF_SCALE times the full number. 1 takes an hour on two cores."""

import os

SCALE = float(os.environ.get("RICORDO_PROOF_SCALE", "0.1"))


def scaled(full: int, *, least: int = 1) -> int:
    """The number of cases for `full` of them at scale 1."""
    return max(least, round(full * SCALE))
