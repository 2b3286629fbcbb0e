"""Each policy is broken in every way that the mutation test knows; failures are mutants that nobody reports."""

import pytest

from tests.isolation.probes import HARMLESS
from tests.isolation.tenants import Tenants
from tests.isolation.test_policy_mutations import (  # noqa: F401 - fixtures among them
    EQUIVALENT,
    Connection,
    Policy,
    clone,
    policies,
    superuser,
    survivors,
    tenants,
)
from tests.proof.conftest import Tally

pytestmark = pytest.mark.xdist_group("mutants")


@pytest.mark.parametrize("table", HARMLESS)
def test_broken_policies_are_reported(
    table: str,
    superuser: Connection,  # noqa: F811
    tenants: Tenants,  # noqa: F811
    policies: list[Policy],  # noqa: F811
    tally: Tally,
) -> None:
    for policy in policies:
        if policy.table == table:
            alive = set(survivors(superuser, tenants, policy)) - EQUIVALENT
            for mutant in policy.mutants():
                tally.count(mutant.name not in alive, mutant.name)
    assert not tally.failures
