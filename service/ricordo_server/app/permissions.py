"""What a principal may do, said before the database would have to refuse it."""

from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.domain.scope import Scope, ScopeFilter, Visibility, named_user
from ricordo_server.domain.store import GrantedAccess, Store, StoreAccess


def check_in_project(principal: Principal) -> None:
    if principal.project_id is None:
        raise denied(
            "an operator belongs to no project: use a credential of the project's", required="project"
        )


def check_may_act(principal: Principal) -> None:
    if principal.kind is not PrincipalKind.SERVICE:
        raise denied("only a service may act as an end user", required=PrincipalKind.SERVICE)


def check_may_write(principal: Principal) -> None:
    if not principal.may_write:
        raise denied("this credential may only read", required=Role.WRITER)


def check_may_write_here(connection: TenantConnection) -> None:
    """The store is restricted, and granted for reading."""
    if not connection.may_write:
        message = f"this credential may only read the store {connection.store_name!r}"
        raise denied(message, required=GrantedAccess.WRITE, field="store_id")


def check_may_manage(principal: Principal) -> None:
    """Stores are the service's to make, not an end user's."""
    check_may_write(principal)
    if not principal.may_name_any_user:
        raise denied("an end user's credential may not manage stores", required=PrincipalKind.SERVICE)


def check_may_change(principal: Principal, store: Store) -> None:
    """A restricted store is its creator's and the administrators' to change, to delete and to grant."""
    is_creator = principal.principal_id == store.creator_id
    if store.access is StoreAccess.RESTRICTED and not (is_creator or principal.may_administer):
        message = f"the store {store.store_id!r} is restricted: only its creator and administrators change it"
        raise denied(message, required=Role.ADMIN, field="store_id")


def check_may_grant(principal: Principal, store: Store) -> None:
    _check_keeps(principal, store, "grant access to it")


def check_may_configure(principal: Principal, store: Store) -> None:
    """As a project's settings, those of a store say what is learned, by whom, and how long it is kept."""
    _check_keeps(principal, store, "change these settings of it")


def _check_keeps(principal: Principal, store: Store, what: str) -> None:
    if not (principal.principal_id == store.creator_id or principal.may_administer):
        message = f"only the creator of the store {store.store_id!r} and administrators {what}"
        raise denied(message, required=Role.ADMIN, field="store_id")


def check_may_administer(principal: Principal) -> None:
    if not principal.may_administer:
        raise denied("only a service with the role admin may do this", required=Role.ADMIN)


def check_operator(principal: Principal) -> None:
    if Role.OPERATOR not in principal.roles:
        raise denied("this is for operators", required=Role.OPERATOR)


def check_may_write_in(principal: Principal, scope: Scope, field: str = "scope") -> None:
    """A bound user writes in its own name only."""
    check_may_write(principal)
    if not principal.may_name_any_user and scope.user_id not in principal.user_ids:
        raise denied("this credential may write only in its own user's name", field=f"{field}.user_id")


def check_may_publish(connection: TenantConnection, visibility: Visibility, field: str) -> None:
    """Of what everyone reads, end users write none unless the project lets them."""
    if visibility is Visibility.PROJECT and not connection.may_publish:
        message = (
            "end users may not publish in this project: write it PRIVATE, or let an administrator allow it"
        )
        raise denied(message, required="end_users_may_publish", field=field)


def check_may_read_as(principal: Principal, scope: ScopeFilter) -> None:
    """A bound user asks about nobody else; the policies would answer with nothing."""
    user_id = named_user(scope)
    if user_id is not None and not principal.may_name_any_user and user_id not in principal.user_ids:
        raise denied("this credential may name only its own user", field="scope")


def denied(message: str, *, required: str = "", field: str = "") -> DomainError:
    """`required` is told in lower case, be it a role, a kind of principal, an access or a setting."""
    metadata = {"required": required.lower()} if required else None
    return DomainError(Reason.PERMISSION_DENIED, message, field, metadata)
