"""What a TOML file states of a project."""

import tomllib
from pathlib import Path

import pydantic

import ricordo
from ricordo_server.cli.failures import MISUSE, Refusal


class Stated(pydantic.BaseModel):
    """A table of the file; a name that is not known is an error."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class StatedGrant(Stated):
    """To a service account by its name, or to any principal as `WhoAmI` names it."""

    service_account: str | None = None
    principal_id: str | None = None
    access: ricordo.models.GrantedAccess

    @pydantic.model_validator(mode="after")
    def _to_one(self) -> "StatedGrant":
        if bool(self.service_account) == bool(self.principal_id):
            raise ValueError("a grant is to a service_account or to a principal_id: state one of them")
        return self

    @property
    def to(self) -> str:
        return self.service_account or self.principal_id or ""


class StatedStore(Stated):
    """What is None is left as it is; an empty language inherits the project's. `grants` are all that it will have."""

    store_id: str
    description: str | None = None
    language: str | None = None
    access: ricordo.models.StoreAccess | None = None
    settings: ricordo.models.StoreSettings | None = None
    grants: tuple[StatedGrant, ...] | None = pydantic.Field(None, alias="grant")


class StatedAccount(Stated):
    name: str
    role: ricordo.models.ProjectRole
    disabled: bool = False


class Statement(Stated):
    """The whole file. `project_id` keeps it from being applied to another project."""

    project_id: str | None = None
    project: ricordo.models.ProjectChanges | None = None
    stores: tuple[StatedStore, ...] = pydantic.Field((), alias="store")
    accounts: tuple[StatedAccount, ...] = pydantic.Field((), alias="service_account")

    @pydantic.model_validator(mode="after")
    def _each_once(self) -> "Statement":
        stated = [[each.store_id for each in self.stores], [each.name for each in self.accounts]]
        stated += [[each.to for each in store.grants or ()] for store in self.stores]
        for names in stated:
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"stated twice: {', '.join(twice)}")
        return self


def read_statement(file: Path) -> Statement:
    try:
        return Statement(**tomllib.loads(file.read_text()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: no TOML: {error}", status=MISUSE) from error
