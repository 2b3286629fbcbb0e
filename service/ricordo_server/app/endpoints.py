"""The endpoint that a policy of extraction names."""

from ricordo_server.app.services import Services
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.extraction_policy import PolicyChanges
from ricordo_server.domain.failure import StepError


def check_endpoint(services: Services, policy: PolicyChanges, field: str) -> None:
    """Raises DomainError: INVALID_FIELD where the operator has set up no such endpoint."""
    try:
        services.choose_extractor(str(policy.get("endpoint", "")))
    except StepError as failure:
        raise invalid_field(f"{field}.endpoint", str(failure)) from failure
