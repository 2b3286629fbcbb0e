"""What extraction still has to do with a session, pure."""

from ricordo.models import ExtractionStatus, KindProgress


def waiting_kinds(status: ExtractionStatus, target: int) -> list[KindProgress]:
    """The kinds that have not extracted every turn up to `target`, and have something left to do."""
    return [
        kind
        for kind in status.kinds
        if kind.extracted_turn_seq < target and (kind.pending_snapshots or kind.failed_snapshots)
    ]


def failed_kinds(status: ExtractionStatus) -> list[KindProgress]:
    """The kinds that were given up somewhere: waiting does not help them."""
    return [kind for kind in status.kinds if kind.failed_snapshots]


def explain_waiting(status: ExtractionStatus, target: int, session_id: str) -> str:
    """One line for people."""
    parts = [
        f"{kind.kind} is at turn {kind.extracted_turn_seq} of {target} ({kind.pending_snapshots} snapshots pending, "
        f"{kind.failed_snapshots} failed{f', last {kind.last_failure_class}' if kind.last_failure_class else ''})"
        for kind in waiting_kinds(status, target)
    ]
    return f"the session {session_id} is not extracted: {'; '.join(parts)}; is a worker running (`ricordo work`)?"
