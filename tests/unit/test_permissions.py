import pytest

from ricordo_server.app.permissions import denied
from ricordo_server.domain.principal import PrincipalKind, Role
from ricordo_server.domain.store import GrantedAccess


@pytest.mark.parametrize(
    ("required", "told"),
    [
        (Role.WRITER, "writer"),
        (PrincipalKind.SERVICE, "service"),
        (GrantedAccess.WRITE, "write"),
        ("project", "project"),
    ],
)
def test_what_is_required_is_told_in_one_case(required: str, told: str) -> None:
    assert denied("no", required=required).metadata == {"required": told}
