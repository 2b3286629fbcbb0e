"""What a project's declarations ask of one another, of metadata and of filters."""

from collections.abc import Iterator, Mapping, Sequence

from ricordo_server.domain import limits
from ricordo_server.domain.errors import DomainError, Reason, invalid_field, invalid_filter, over_limit
from ricordo_server.domain.filter import AllOf, AnyOf, Comparison, Filter, Negated
from ricordo_server.domain.filter_check import ValueType, type_of
from ricordo_server.domain.metadata import Metadata, MetadataValue
from ricordo_server.domain.project_settings import (
    CustomType,
    MetadataPolicy,
    MetadataType,
    ProjectSettings,
)

METADATA = "metadata"
VALUE_TYPES: Mapping[MetadataType, ValueType] = {
    MetadataType.STRING: ValueType.TEXT,
    MetadataType.NUMBER: ValueType.NUMBER,
    MetadataType.BOOL: ValueType.BOOL,
    MetadataType.TIME: ValueType.TIME,
}


def check_declarations(settings: ProjectSettings, field: str) -> None:
    """One name has one type, and is no map besides.

    Raises:
        DomainError: INVALID_FIELD or LIMIT_EXCEEDED, with the place of the declaration at fault.
    """
    _check_unique(settings, field)
    types: dict[str, MetadataType] = {}
    for place, key in settings.declarations():
        if types.setdefault(key.name, key.value_type) is not key.value_type:
            message = f"{key.name!r} is declared as {types[key.name]} too: a name has one type in the project"
            raise invalid_field(f"{field}.{place}.value_type", message)
    for place, key in settings.declarations():
        outer = key.name.partition(".")[0]
        if outer != key.name and outer in types:
            message = f"{outer!r} is declared as {types[outer]}, so it is no map: choose another name"
            raise invalid_field(f"{field}.{place}.name", message)
    if len(types) > limits.MAX_DECLARED_NAMES:
        raise over_limit(field, "declared names", limits.MAX_DECLARED_NAMES, len(types))


def _check_unique(settings: ProjectSettings, field: str) -> None:
    groups = {
        "metadata_keys": [key.name for key in settings.metadata_keys],
        "custom_types": [custom_type.name for custom_type in settings.custom_types],
    }
    for number, custom_type in enumerate(settings.custom_types):
        groups[f"custom_types[{number}].tags"] = [tag.name for tag in custom_type.tags]
    for group, names in groups.items():
        for number, name in enumerate(names):
            if name in names[:number]:
                raise invalid_field(
                    f"{field}.{group}[{number}].name", f"{name!r} is declared twice: once is enough"
                )


def check_metadata(settings: ProjectSettings, metadata: Metadata, field: str) -> None:
    """Each value has its key's type; null and nothing at all are of every type.

    Raises:
        DomainError: INVALID_FIELD.
    """
    for name, value_type in settings.declared.items():
        value = find_value(metadata, name)
        if value is not None and type_of(value) is not VALUE_TYPES[value_type]:
            message = f"{name!r} is declared as {value_type}, not {type_of(value)}: correct the value or leave it out"
            raise invalid_field(path_in(field, name), message)


def find_value(metadata: Metadata, name: str) -> MetadataValue:
    """None also where there is none."""
    outer, dot, inner = name.partition(".")
    value = metadata.get(outer)
    if not dot:
        return value
    return value.get(inner) if isinstance(value, Mapping) else None


def path_in(field: str, name: str) -> str:
    return field + "".join(f'["{segment}"]' for segment in name.split("."))


def nest_tags(settings: ProjectSettings, custom_type: str, metadata: Metadata, field: str) -> Metadata:
    """The metadata of a CUSTOM memory with its dotted tags in their nested form.

    Raises:
        DomainError: UNKNOWN_CUSTOM_TYPE; INVALID_FIELD for a tag that the type does not have, or has twice.
    """
    check_custom_type(settings, custom_type, f"{field}.custom_type")
    declared = settings.types_by_name.get(custom_type)
    if declared is None:
        return metadata
    nested: dict[str, MetadataValue] = {}
    for name, value in _flattened(settings, declared, metadata, f"{field}.{METADATA}"):
        outer, dot, inner = name.partition(".")
        group = nested.setdefault(outer, {}) if dot else nested
        assert isinstance(group, dict)  # noqa: S101 - a name is never both a value and a map
        key = inner if dot else outer
        if key in group:
            message = f"{name!r} is given twice, dotted and nested: give it once"
            raise invalid_field(path_in(f"{field}.{METADATA}", name), message)
        group[key] = value
    return nested


def _flattened(
    settings: ProjectSettings, declared: CustomType, metadata: Metadata, field: str
) -> Iterator[tuple[str, MetadataValue]]:
    """Values by dotted name, as they were given: a name may come twice."""
    accepted = {tag.name for tag in declared.tags} | {key.name for key in settings.metadata_keys}
    for key, value in metadata.items():
        for name, each in _members(key, value, is_name=key in accepted):
            if name not in accepted:
                has = ", ".join(sorted(accepted)) or "none"
                message = f"{declared.name!r} has no tag {name[:64]!r}; it has: {has}"
                raise invalid_field(path_in(field, name[:64]), message)
            yield name, each


def _members(key: str, value: MetadataValue, *, is_name: bool) -> Iterator[tuple[str, MetadataValue]]:
    if isinstance(value, Mapping) and value and not is_name:
        yield from ((f"{key}.{inner}", each) for inner, each in value.items())
    else:
        yield key, value


def check_custom_type(settings: ProjectSettings, custom_type: str, field: str) -> None:
    """The type is one of those declared, where types must be.

    Raises:
        DomainError: UNKNOWN_CUSTOM_TYPE, listing those declared.
    """
    if not settings.closes_custom_types or custom_type in settings.types_by_name:
        return
    declared = ", ".join(settings.types_by_name) or "none"
    message = f"{custom_type[:64]!r} is no custom type of this project; declared: {declared}"
    raise DomainError(Reason.UNKNOWN_CUSTOM_TYPE, message, field, {"declared": declared})


def check_declared_filter(settings: ProjectSettings, tree: Filter, field: str = "filter") -> None:
    """`tree` has passed `check_filter`.

    Raises:
        DomainError: INVALID_FILTER for a path that is not declared where it must be, or an operand of another type
            than its key's.
    """
    match tree:
        case AllOf(parts=parts):
            _check_parts(settings, parts, f"{field}.all_of")
        case AnyOf(parts=parts):
            _check_parts(settings, parts, f"{field}.any_of")
        case Negated(part=part):
            check_declared_filter(settings, part, f"{field}.negated")
        case Comparison(path=(outermost, *_)) if outermost == METADATA:
            _check_comparison(settings, tree, f"{field}.comparison")


def _check_parts(settings: ProjectSettings, parts: Sequence[Filter], field: str) -> None:
    for index, part in enumerate(parts):
        check_declared_filter(settings, part, f"{field}.filters[{index}]")


def _check_comparison(settings: ProjectSettings, comparison: Comparison, field: str) -> None:
    declared = declared_type(settings, comparison)
    if declared is None:
        if settings.metadata_policy is MetadataPolicy.DECLARED:
            shown = ".".join(comparison.path)[:128]
            raise invalid_filter(
                f"{shown!r} is not declared in this project", _accepted(settings), f"{field}.path"
            )
        return
    wanted = VALUE_TYPES[declared]
    for index, value in enumerate(comparison.values):
        if type_of(value) not in (wanted, ValueType.NULL):
            message = f"{'.'.join(comparison.path)!r} is declared as {declared}, not {type_of(value)}"
            raise invalid_filter(message, wanted, f"{field}.values[{index}]")


def declared_type(settings: ProjectSettings, comparison: Comparison) -> MetadataType | None:
    """The type of the metadata key that is compared; None when it is not declared.

    A segment with a dot in it is one key with a dot: no declared one, whose dots walk into maps.
    """
    _, *keys = comparison.path
    return None if any("." in key for key in keys) else settings.declared.get(".".join(keys))


def _accepted(settings: ProjectSettings) -> str:
    return ", ".join(f"{METADATA}.{name}" for name in sorted(settings.declared)) or f"no {METADATA}"
