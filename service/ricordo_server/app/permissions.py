"""What a principal may do, said before the database would have to refuse it."""

from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.domain.scope import Scope, ScopeFilter, Visibility, named_user

WRITERS = frozenset({Role.WRITER, Role.ADMIN})


def check_in_project(principal: Principal) -> None:
    if principal.project_id is None:
        raise denied(
            "an operator belongs to no project: use a credential of the project's", required="project"
        )


def check_may_write(principal: Principal) -> None:
    if not principal.roles & WRITERS:
        raise denied("this credential may only read", required=Role.WRITER)


def check_may_manage(principal: Principal) -> None:
    """Stores are the service's to make, not an end user's."""
    check_may_write(principal)
    if not principal.may_name_any_user:
        raise denied("an end user's credential may not manage stores", required=PrincipalKind.SERVICE)


def check_may_administer(principal: Principal) -> None:
    """The settings of a project hold for everyone in it."""
    if Role.ADMIN not in principal.roles or not principal.may_name_any_user:
        raise denied("only a service with the role admin may change the project", required=Role.ADMIN)


def check_operator(principal: Principal) -> None:
    if Role.OPERATOR not in principal.roles:
        raise denied("this is for operators", required=Role.OPERATOR)


def check_may_write_as(principal: Principal, scope: Scope, visibility: Visibility, field: str) -> None:
    """A bound user writes in its own name, and nothing that everyone reads."""
    check_may_write_in(principal, scope, f"{field}.scope")
    if visibility is Visibility.PROJECT:
        check_may_publish(principal, f"{field}.visibility")


def check_may_write_in(principal: Principal, scope: Scope, field: str = "scope") -> None:
    """A bound user writes in its own name only."""
    check_may_write(principal)
    if not principal.may_name_any_user and scope.user_id not in principal.user_ids:
        raise denied("this credential may write only in its own user's name", field=f"{field}.user_id")


def check_may_publish(principal: Principal, field: str) -> None:
    if not principal.may_name_any_user:
        raise denied("end users may not publish in this project", field=field)


def check_may_read_as(principal: Principal, scope: ScopeFilter) -> None:
    """A bound user asks about nobody else; the policies would answer with nothing."""
    user_id = named_user(scope)
    if user_id is not None and not principal.may_name_any_user and user_id not in principal.user_ids:
        raise denied("this credential may name only its own user", field="scope")


def denied(message: str, *, required: str = "", field: str = "") -> DomainError:
    return DomainError(Reason.PERMISSION_DENIED, message, field, {"required": required} if required else None)
