"""Which reranker to ask, and its bounds."""

from dataclasses import dataclass, field
from typing import Literal

# One request: 1,000 is the most that Cohere and Voyage take.
MAX_DOCUMENTS = 1_000


@dataclass(frozen=True)
class RerankSettings:
    """Where the server's `/rerank` is. Without `base_url` there is no reranker.

    Attributes:
        base_url: The address up to `/rerank`, such as "http://localhost:8080/v1".
        model: The model's name as the server knows it; `ranking_strategy` names it.
        api_key: Sent as a bearer token; never printed.
        texts_field: What the request calls the texts: "documents" (Cohere, Jina, Voyage, vLLM, llama.cpp) or "texts"
            (Text Embeddings Inference).
        timeout: Seconds for the whole request.
        max_documents: Candidates of one context that are scored; those ranked below stay below.
        max_characters: The longest text sent; longer ones are cut at the end. Servers refuse or cut what their model
            cannot read, and most read 512 tokens.
    """

    base_url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    texts_field: Literal["documents", "texts"] = "documents"
    timeout: float = 5.0
    max_documents: int = 100
    max_characters: int = 2_000

    def __post_init__(self) -> None:
        if not self.base_url:
            return
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError("the reranker's base_url must begin with http:// or https://")
        if not self.model:
            raise ValueError("the reranker needs a model")
        if not 1 <= self.max_documents <= MAX_DOCUMENTS:
            raise ValueError(f"max_documents must be between 1 and {MAX_DOCUMENTS}")
        if self.timeout <= 0 or self.max_characters < 1:
            raise ValueError("timeout and max_characters must be more than 0")
