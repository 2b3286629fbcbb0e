"""What is said: contents of parts, as agents exchange them."""

from typing import Any, Self

from pydantic import Field, model_validator

from ricordo.memory_bank.base import BankModel


class FunctionCall(BankModel):
    """A function that a model called."""

    id: str = ""
    name: str
    args: dict[str, Any] = Field(default_factory=dict)


class FunctionResponse(BankModel):
    """What a function answered."""

    id: str = ""
    name: str
    response: dict[str, Any] = Field(default_factory=dict)


class Part(BankModel):
    """A part of what is said: text, a call of a function, or its answer. A `thought` is not said: it is left out."""

    text: str | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    thought: bool = False
    thought_signature: Any = None

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        given = (self.text, self.function_call, self.function_response)
        if sum(each is not None for each in given) != 1:
            raise ValueError("a part is text, a function_call or a function_response")
        return self


class Content(BankModel):
    """What is said, and by whom: "user" or "model", or another role."""

    role: str = "user"
    parts: list[Part] = Field(min_length=1)
