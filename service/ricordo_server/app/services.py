"""What the nouns work with; made once, in the composition root."""

from collections.abc import Callable
from dataclasses import dataclass

from ricordo_server.app.access_tokens import AccessTokens
from ricordo_server.app.embedders import Embedders
from ricordo_server.app.limiter import Limiter
from ricordo_server.app.token_pace import TokenPace
from ricordo_server.credentials.secrets import SecretHashing
from ricordo_server.db.connection import Database, Pool
from ricordo_server.domain.extraction import Extractor
from ricordo_server.domain.ports import Reranker, TokenCounter


@dataclass(frozen=True)
class Services:
    """`operator_pool` is None on servers without the operator's URL; `reranker` where none is set up.

    `embed_timeout` is in seconds. `choose_extractor` has the extractor of a name, the server's default for an empty
    one; it raises StepError.
    """

    database: Database
    operator_pool: Pool | None
    embedders: Embedders
    tokens: TokenCounter
    embed_timeout: float
    choose_extractor: Callable[[str], Extractor]
    limiter: Limiter
    access_tokens: AccessTokens
    token_pace: TokenPace
    hashing: SecretHashing
    reranker: Reranker | None = None
