"""Who a call is for: call argument, else bound context, else ambient context."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ricordo.errors import MemoryIdentityError
from ricordo.models import MemoryRequestContext, Visibility

NOBODY = MemoryRequestContext()
_ambient: ContextVar[MemoryRequestContext] = ContextVar("ricordo_ambient_context", default=NOBODY)


@contextmanager
def ambient_context(context: MemoryRequestContext) -> Iterator[None]:
    """Names who the calls inside the block are for, where neither the call nor `bind` does.

    The context belongs to the current task or thread, so that a server can set it for each request.

    Args:
        context: The identity; its blank fields are unset, they do not fall through to an outer block.
    """
    token = _ambient.set(context)
    try:
        yield
    finally:
        _ambient.reset(token)


def current_context() -> MemoryRequestContext:
    """The ambient context of the current task or thread; empty outside `ambient_context`."""
    return _ambient.get()


def resolve(*tiers: MemoryRequestContext) -> MemoryRequestContext:
    """Takes each field from the first tier that gives it."""
    return MemoryRequestContext(
        user_id=first_given(*(tier.user_id for tier in tiers)),
        agent_id=first_given(*(tier.agent_id for tier in tiers)),
        session_id=first_given(*(tier.session_id for tier in tiers)),
    )


def resolve_read(
    call: MemoryRequestContext,
    bound: MemoryRequestContext,
    ambient: MemoryRequestContext,
    *,
    visibility: Visibility | None = None,
    own_session_only: bool = False,
) -> MemoryRequestContext:
    """Resolves who a read is for.

    Args:
        call: What the call names.
        bound: What `bind` named.
        ambient: What the ambient context names. A read of another visibility than `private` takes no user from it:
            such a read is not about whoever happens to be asking.
        visibility: The visibility that is read.
        own_session_only: Take the session from the call alone, for consolidated episodes have none.
    """
    if visibility not in (None, Visibility.PRIVATE):
        ambient = ambient.model_copy(update={"user_id": None})
    resolved = resolve(call, bound, ambient)
    if own_session_only:
        return resolved.model_copy(update={"session_id": first_given(call.session_id)})
    return resolved


def first_given(*values: str | None) -> str | None:
    """The first value that is neither None nor blank."""
    return next((value for value in values if value and not value.isspace()), None)


def require(value: str | None, field: str, operation: str) -> str:
    """The value, or an error that names the ways to give it.

    Raises:
        MemoryIdentityError: The value is missing.
    """
    if value is None:
        raise MemoryIdentityError(
            f"{operation} needs a {field}: pass {field}=..., bind(MemoryRequestContext({field}=...)), "
            f"or run it inside ambient_context(...)"
        )
    return value


def require_given(value: str, field: str) -> str:
    """The value, unless it is blank: what is nobody's is nothing to fall back to.

    Raises:
        MemoryIdentityError: It is blank.
    """
    if first_given(value) is None:
        raise MemoryIdentityError(f"{field} is blank: say whose memory it is, from trusted code")
    return value
