"""Which embedder to load, and its bounds."""

from dataclasses import dataclass, field
from typing import Literal

Provider = Literal["local", "openai", "hashing"]

# With the SDK's waits of at most 8 s between tries, a call still ends within a background job's patience.
MAX_RETRIES = 5
# Of the local model at a time: a project alone has one of them.
LOCAL_RUNS = 2

# Local: whoever comes next waits for what runs, and a CPU is hardly faster at many texts than at one (of 40 words it
# takes 28 a second, whether 2 or 32 together; one by one 26). Remote: the round trip is the cost.
_BATCH_SIZES: dict[Provider, int] = {"local": 1, "openai": 64, "hashing": 4}


@dataclass(frozen=True)
class EmbeddingSettings:
    """The provider and what it needs; what a provider does not know, it ignores.

    Attributes:
        provider: "local" (all-MiniLM-L6-v2 in this process), "openai" (any compatible `/v1/embeddings`) or
            "hashing" (tests).
        model: openai: the model's name as the provider knows it.
        base_url: openai: the address up to and with `/v1`; empty means OpenAI's own.
        api_key: openai: never printed. Also `env:NAME` or `file:PATH`, where it is read when the model is loaded.
        dimension: Numbers per vector. openai: what the model answers (needed); hashing: 64 if 0.
        send_dimension: openai: ask the model to shorten its vectors to `dimension`; not every model can.
        max_tokens: openai: the longest input, in tokens of `tokenizer`. Where the model has another
            tokenizer (BERT and E5 models do), leave a third of its limit unused: it may count more.
        tokenizer: openai: what counts the tokens, see `tokens.py`.
        query_prefix: openai: written before each query, such as "query: " for E5 models.
        document_prefix: openai: written before each document, such as "passage: ".
        timeout: openai: seconds for one HTTP request.
        max_retries: openai: further tries of one request after 408, 409, 429, 5xx or a lost connection.
        batch_size: Texts in one run of the model or one HTTP request; None takes the provider's own.
        max_waiting: Texts that may wait for a run; beyond, a call is refused as retryable.
        parallel: openai: HTTP requests at a time; of several the last is left to projects that have none. The local
            model takes one text at a time, and beside it one of another project.
        threads: local: threads of one run of the model.
    """

    provider: Provider = "local"
    model: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    dimension: int = 0
    send_dimension: bool = False
    max_tokens: int = 8_191
    tokenizer: str = "cl100k_base"
    query_prefix: str = ""
    document_prefix: str = ""
    timeout: float = 10.0
    max_retries: int = 2
    batch_size: int | None = None
    max_waiting: int = 2_048
    parallel: int = 4
    threads: int = 1

    def __post_init__(self) -> None:
        if self.provider not in _BATCH_SIZES:
            raise ValueError(f"there is no provider {self.provider!r}: choose from {', '.join(_BATCH_SIZES)}")
        if self.provider == "openai" and not (self.model and self.dimension > 0):
            raise ValueError("the openai embedder needs a model and the dimension of its vectors")
        if not 0 <= self.max_retries <= MAX_RETRIES:
            raise ValueError(f"max_retries is {self.max_retries}, it must be between 0 and {MAX_RETRIES}")
        if min(self.choose_batch_size(), self.max_waiting, self.parallel, self.threads, self.max_tokens) < 1:
            raise ValueError("batch_size, max_waiting, parallel, threads and max_tokens must be at least 1")
        if self.timeout <= 0:
            raise ValueError("timeout must be more than 0 seconds")

    def choose_parallel(self) -> int:
        """How many batches run at a time. Of several the last is left to projects that have none running."""
        return {"local": LOCAL_RUNS, "openai": self.parallel, "hashing": 1}[self.provider]

    def choose_batch_size(self) -> int:
        return _BATCH_SIZES[self.provider] if self.batch_size is None else self.batch_size
