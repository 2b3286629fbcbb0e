"""How a store works, where it has its own way: over the project's settings, field by field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ricordo_server.domain.extraction_policy import ExtractionPolicy, PolicyChanges
from ricordo_server.domain.profile_schema import ProfileSchema
from ricordo_server.domain.retention import NO_RETENTION, Retention
from ricordo_server.domain.scope import Scope

USER_KEY = "user_id"


@dataclass(frozen=True)
class ScopedExtraction:
    """For scopes that hold all of `scope_keys`: "user_id" and keys of labels."""

    scope_keys: Sequence[str]
    extraction: PolicyChanges


@dataclass(frozen=True)
class StoreSettings:
    """What is None, or not in a mapping, is the project's."""

    language: str | None = None
    extraction: PolicyChanges = field(default_factory=dict)
    scoped_extraction: Sequence[ScopedExtraction] = ()
    retention: Retention = NO_RETENTION
    profile_schemas: Sequence[ProfileSchema] | None = None

    def policy_for(self, project: ExtractionPolicy, scope: Scope) -> ExtractionPolicy:
        """How what is of a scope is extracted: by the rule with the most keys of those that fit."""
        policy = project.changed(self.extraction)
        held = scope_keys(scope)
        fitting = [each for each in self.scoped_extraction if held.issuperset(each.scope_keys)]
        if not fitting:
            return policy
        return policy.changed(max(fitting, key=lambda each: len(each.scope_keys)).extraction)

    def policies(self, project: ExtractionPolicy) -> list[ExtractionPolicy]:
        """Every one that some scope may have."""
        policy = project.changed(self.extraction)
        return [policy, *(policy.changed(each.extraction) for each in self.scoped_extraction)]


def scope_keys(scope: Scope) -> set[str]:
    return {*scope.labels, *([USER_KEY] if scope.user_id is not None else [])}


# New values by field name of StoreSettings.
StoreSettingsChanges = Mapping[str, object]
