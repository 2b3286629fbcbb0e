"""Which extractors a server has, and their bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# The name under which projects choose the extractor that needs no model.
BUILTIN = "builtin"


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible chat completion API. Projects name it; address and key are the operator's alone, so that
    no project can send a key to an address of its own.

    Attributes:
        base_url: The address up to and with `/v1`; empty means OpenAI's own.
        api_key: Never printed.
        model: Taken where a project names none.
        timeout: Seconds for one HTTP request.
        input_tokens: Tokens of turns in one request; longer runs are read in several.
        output_tokens: Tokens of one reply. What is cut there is asked for again, from the cut on.
        temperature: Not sent when None: some models refuse any.
        json_schema: Whether the API holds its replies to a JSON schema; off, the schema is only told to the model.
        bounded_schema: Whether that schema also bounds lists and texts, by the turns that are read. A small model may
            never come to the end of one; but OpenAI's own API refuses the keyword for texts.
    """

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    model: str = ""
    timeout: float = 120.0
    input_tokens: int = 8_000
    output_tokens: int = 2_000
    temperature: float | None = None
    json_schema: bool = True
    bounded_schema: bool = False

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("an endpoint for extraction needs a model")
        if self.timeout <= 0 or min(self.input_tokens, self.output_tokens) < 64:
            raise ValueError(
                "timeout must be more than 0 seconds, input_tokens and output_tokens at least 64"
            )


@dataclass(frozen=True)
class ExtractionSettings:
    """The endpoints by the names projects know them by, and the extractor of projects that choose none."""

    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    default: str = BUILTIN

    def __post_init__(self) -> None:
        if BUILTIN in self.endpoints:
            raise ValueError(f"no endpoint may be named {BUILTIN!r}: that is the extractor without a model")
        if self.default != BUILTIN and self.default not in self.endpoints:
            raise ValueError(f"the default extractor {self.default!r} is none of the endpoints")
