"""The extractors of a server, by the names projects choose them by."""

from collections.abc import Mapping

from ricordo_server.domain.extraction import Extractor
from ricordo_server.domain.failure import FailureClass, StepError
from ricordo_server.domain.ports import TokenCounter
from ricordo_server.extraction.builtin import BuiltinExtractor
from ricordo_server.extraction.openai import OpenAIExtractor
from ricordo_server.extraction.settings import BUILTIN, ExtractionSettings


class Extractors:
    """All that are set up, made once; clients are shared by projects, requests never are."""

    def __init__(self, settings: ExtractionSettings, counter: TokenCounter) -> None:
        self._default = settings.default
        self._by_name: Mapping[str, Extractor] = {
            BUILTIN: BuiltinExtractor(),
            **{name: OpenAIExtractor(endpoint, counter) for name, endpoint in settings.endpoints.items()},
        }

    def choose(self, name: str) -> Extractor:
        """The extractor of that name; the server's default for an empty one.

        Raises:
            StepError: CREDENTIAL when this server has none of that name: its operator may yet set it up.
        """
        try:
            return self._by_name[name or self._default]
        except KeyError:
            message = (
                f"this server has no extraction endpoint {name!r}: choose one of {', '.join(self.names)}"
            )
            raise StepError(FailureClass.CREDENTIAL, message) from None

    @property
    def names(self) -> list[str]:
        return sorted(self._by_name)

    async def aclose(self) -> None:
        for extractor in self._by_name.values():
            await extractor.aclose()
