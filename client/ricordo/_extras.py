"""Parts of the package that need more than the client: each names the extra that brings it."""


def missing_extra(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """What to say where the packages of an extra are not installed."""
    return ModuleNotFoundError(
        f"{error}: it comes with an extra. Install it: pip install 'ricordo[{extra}]'", name=error.name
    )
