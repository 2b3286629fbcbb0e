"""Settings from the environment (`RICORDO_*`): read by the command line, the composition roots and tests only."""

import os
from pathlib import Path
from uuid import UUID

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from ricordo_server.credentials.settings import OidcSettings
from ricordo_server.embedding import EmbeddingSettings
from ricordo_server.extraction import ExtractionSettings
from ricordo_server.reranking import RerankSettings
from ricordo_server.rpc.transport import TlsSettings

DEFAULT_PORT = 7483


class Settings(BaseSettings):
    """Each field is `RICORDO_<NAME>`; a nested one `RICORDO_EMBEDDING__<NAME>`."""

    model_config = SettingsConfigDict(env_prefix="RICORDO_", env_nested_delimiter="__", env_ignore_empty=True)

    database_url: str = ""
    """`postgresql://` URL of the role ricordo_app."""
    operator_url: str = ""
    """URL of the role ricordo_operator; without it the server has no AdminService, and there is no worker."""
    owner_url: str = ""
    """URL of a login that may SET ROLE ricordo_owner: `migrate` only."""
    superuser_url: str = ""
    """URL of a superuser: `bootstrap` only."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    """0 takes a free port."""
    tls: TlsSettings = TlsSettings()
    insecure_behind_proxy: bool = False
    """Lets plain text be served beyond loopback: for a proxy in front that speaks TLS to the callers."""
    processes: int = Field(1, ge=1, le=64)
    """Server processes on the one port; more than one only helps with more than one core."""
    pool_size: int = Field(default_factory=lambda: max(4, min(16, 2 * (os.cpu_count() or 1))), ge=1)
    """Database connections of the whole server, divided among its processes; twice the cores, 4 to 16. No
    transaction is open while anything else is waited for, so this is how many calls work at a time. More than the
    database has cores for make no call faster, and let one project slow the others."""
    transaction_pooler: bool = False
    """Set behind a transaction pooler: no prepared statements."""
    max_concurrent_calls: int = Field(200, ge=1)
    """Beyond, calls are refused at once: better than a queue in which all of them time out."""
    max_call_seconds: float = Field(60.0, gt=0)
    """Bounds calls without a deadline of their own."""
    shutdown_delay: float = Field(0.0, ge=0)
    """Seconds between NOT_SERVING and the stop, for load balancers to notice."""
    shutdown_grace: float = Field(10.0, ge=0)
    """Seconds that running calls, and running jobs, get after SIGTERM."""
    with_worker: bool = False
    """Serving processes run jobs too; else `ricordo work` does."""
    worker_concurrency: int = Field(4, ge=1, le=64)
    """Jobs at the same time in all processes together; most of them wait for a model or the database."""
    worker_lease: float = Field(30.0, gt=0)
    """Seconds without a heartbeat after which a worker is dead and others get its jobs; the same for all of them."""
    key_secret: str = Field("", repr=False)
    """What the signing keys are encrypted under: random text of at least 32 characters. Further ones, separated by
    blanks, only open: so the secret is changed."""
    key_secret_file: Path | None = None
    """The same in a file, a line each."""
    token_issuer: str = Field("ricordo", min_length=1)
    """`iss` of the tokens that this installation issues."""
    token_audience: str = Field("ricordo", min_length=1)
    """`aud` of these tokens."""
    token_requests_per_account: float = Field(5.0, gt=0)
    """Tokens a second that one account may ask each process for with its secret; after a quiet while, ten times that
    at once. Each costs 30 ms of CPU."""
    token_requests_per_address: float = Field(10.0, gt=0)
    """The same of one address. Behind a proxy all callers have the proxy's: raise it there."""
    oidc: dict[str, OidcSettings] = Field(default_factory=dict)
    """Other issuers whose tokens are taken, each under a name: `RICORDO_OIDC__<NAME>__ISSUER` and so on."""
    development_project: UUID | None = None
    """Turns the development principal on, loopback only: the project of callers without a token."""

    partitions: int = Field(16, ge=1, le=256)
    """Hash partitions of the large tables; the first migration fixes it."""
    embedding: EmbeddingSettings = EmbeddingSettings()
    embed_timeout: float = Field(10.0, gt=0)
    """Seconds a call waits for vectors before its rows are stored without."""
    extraction: ExtractionSettings = ExtractionSettings()
    """What turns are read with; without endpoints, rules that need no model."""
    rerank: RerankSettings = RerankSettings()
    """Without `RICORDO_RERANK__BASE_URL` there is no reranker."""
    data_folder: Path = Path(".ricordo")
    """Where `up` keeps the embedded Postgres."""

    def key_secrets(self) -> list[str]:
        """The current one first; none on a server that issues no tokens and knows none of its own."""
        from_file = self.key_secret_file.read_text() if self.key_secret_file else ""
        return [*self.key_secret.split(), *from_file.split()]
