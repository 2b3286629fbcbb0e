"""Extraction by a language model behind any OpenAI-compatible chat completion API, with the official SDK."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from openai import AsyncOpenAI, OpenAIError
from openai.types.chat import ChatCompletion

from ricordo_server.domain.extraction import (
    ADD,
    Candidate,
    Compared,
    Extraction,
    ExtractionRequest,
    Guidance,
    Proposal,
    Quote,
    TokenMeter,
    Utterance,
)
from ricordo_server.domain.failure import FailureClass, StepError
from ricordo_server.domain.ports import TokenCounter
from ricordo_server.extraction.failures import translate
from ricordo_server.extraction.messages import (
    Message,
    consolidation_messages,
    extraction_messages,
    topic_names,
)
from ricordo_server.extraction.prompts import version_of
from ricordo_server.extraction.replies import (
    ITEM_OF_KIND,
    M,
    NoItemsError,
    Parsed,
    Schema,
    Verdict,
    bounded,
    candidate_of,
    read_reply,
    schema_of,
    with_bounds,
)
from ricordo_server.extraction.settings import Endpoint
from ricordo_server.extraction.windows import Window, split_windows

# A window whose reply is cut is read again in halves. A model that never comes to an end is not asked for ever.
MAX_REPLIES_PER_WINDOW = 15
# More than any model reads: a provider that says so does not count.
MOST_TOLD_TOKENS = 100_000_000


@dataclass(frozen=True)
class _Reply:
    text: str
    cut: bool


@dataclass(frozen=True)
class _Part:
    """What one reply held; quotes count in the request's utterances."""

    candidates: Sequence[Candidate]
    invalid: int
    cut: bool


class OpenAIExtractor:
    """One endpoint. Requests are not retried here: whoever runs the extraction waits as the failure's class says."""

    follows_instructions = True

    def __init__(self, endpoint: Endpoint, counter: TokenCounter) -> None:
        self._endpoint = endpoint
        self._counter = counter
        # The SDK refuses an empty key, but servers of one's own often want none.
        self._client = AsyncOpenAI(
            base_url=endpoint.base_url or None,
            api_key=endpoint.api_key or "none",
            timeout=endpoint.timeout,
            max_retries=0,
        )

    async def aclose(self) -> None:
        await self._client.close()

    async def extract(self, request: ExtractionRequest, meter: TokenMeter) -> Extraction:
        await meter.check()
        pieces: list[Utterance] = []
        found: list[Candidate] = []
        invalid, incomplete = 0, False
        for window in split_windows(request.utterances, self._counter.count, self._endpoint.input_tokens):
            part = await self._read_window(replace(request, utterances=window), meter)
            found += [_moved(candidate, len(pieces)) for candidate in part.candidates]
            pieces += window
            invalid, incomplete = invalid + part.invalid, incomplete or part.cut
        version = version_of(request.kind, overridden=bool(request.guidance.prompt))
        model = request.guidance.model or self._endpoint.model
        return Extraction(found, pieces, model, version, invalid, incomplete)

    async def _read_window(self, request: ExtractionRequest, meter: TokenMeter) -> _Part:
        """A window whose reply is cut is read again in halves, so that each turn has room to be answered for."""
        found: list[Candidate] = []
        invalid, incomplete = 0, False
        todo: list[tuple[int, Window]] = [(0, list(request.utterances))]
        for _ in range(MAX_REPLIES_PER_WINDOW):
            if not todo:
                return _Part(found, invalid, incomplete)
            start, window = todo.pop()
            part = await self._read(replace(request, utterances=window), meter)
            if part.cut and len(window) > 1:
                middle = len(window) // 2
                todo += [(start + middle, window[middle:]), (start, window[:middle])]
                continue
            found += [_moved(candidate, start) for candidate in part.candidates]
            invalid, incomplete = invalid + part.invalid, incomplete or part.cut
        return _Part(found, invalid, incomplete or bool(todo))

    async def _read(self, request: ExtractionRequest, meter: TokenMeter) -> _Part:
        item, topics = ITEM_OF_KIND[request.kind], topic_names(request.guidance)
        schema = schema_of(item, topics)
        if self._endpoint.bounded_schema:
            schema = bounded(schema, request.utterances)
        parsed = await self._ask(extraction_messages(request, schema), item, schema, request.guidance, meter)
        candidates = [candidate_of(request.kind, each, request.utterances, topics) for each in parsed.items]
        return _Part(candidates, len(parsed.faults), parsed.cut)

    async def propose(
        self, compared: Sequence[Compared], guidance: Guidance, meter: TokenMeter
    ) -> list[Proposal]:
        """One request for all; what the reply leaves out, or says of what was not asked, is an ADD."""
        if not compared:
            return []
        schema = schema_of(Verdict)
        if self._endpoint.bounded_schema:
            schema = with_bounds(schema, items=len(compared))
        parsed = await self._ask(consolidation_messages(compared, schema), Verdict, schema, guidance, meter)
        proposals = [ADD] * len(compared)
        for verdict in parsed.items:
            number = verdict.candidate - 1
            if 0 <= number < len(compared):
                proposals[number] = _proposal(verdict, compared[number])
        return proposals

    async def _ask(
        self,
        messages: Sequence[Message],
        item: type[M],
        schema: Schema,
        guidance: Guidance,
        meter: TokenMeter,
    ) -> Parsed[M]:
        """The items of one reply. One that holds none that is valid is told so, and asked for once more."""
        reply = await self._complete(messages, schema, guidance, meter)
        try:
            return read_reply(reply.text, item, cut=reply.cut)
        except NoItemsError as fault:
            told = [
                {"role": "assistant", "content": reply.text or "(nothing)"},
                {"role": "user", "content": str(fault)},
            ]
        reply = await self._complete([*messages, *told], schema, guidance, meter)
        try:
            return read_reply(reply.text, item, cut=reply.cut)
        except NoItemsError as fault:
            raise StepError(FailureClass.CONTENT, f"the model's reply is unusable: {fault}") from fault

    async def _complete(
        self, messages: Sequence[Message], schema: Schema, guidance: Guidance, meter: TokenMeter
    ) -> _Reply:
        try:
            completion = await self._client.chat.completions.create(
                model=guidance.model or self._endpoint.model,
                messages=list(messages),  # type: ignore[arg-type] # plain dicts are what the SDK sends
                **self._options(schema),
            )
        except OpenAIError as error:
            raise translate(error) from error
        except ValueError as error:  # the SDK lets a body through that ends in the middle
            raise StepError(FailureClass.TRANSIENT, "the endpoint's reply is no JSON") from error
        await meter.count(_told_tokens(completion) or self._estimate(messages, completion))
        return _reply_of(completion)

    def _estimate(self, messages: Sequence[Message], completion: ChatCompletion) -> int:
        texts = [message["content"] for message in messages]
        return sum(map(self._counter.count, [*texts, _text_of(completion)]))

    def _options(self, schema: Schema) -> dict[str, Any]:
        """OpenAI's own models want the newer name of the bound, most other servers know the older one alone."""
        bound = "max_tokens" if self._endpoint.base_url else "max_completion_tokens"
        options: dict[str, Any] = {bound: self._endpoint.output_tokens}
        if self._endpoint.temperature is not None:
            options["temperature"] = self._endpoint.temperature
        if self._endpoint.json_schema:
            named = {"name": "reply", "schema": schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        return options


# The SDK does not validate what it parses: these do.
def _told_tokens(completion: ChatCompletion) -> int:
    """What the provider counts for the request and its reply; 0 when it does not say."""
    tokens = getattr(getattr(completion, "usage", None), "total_tokens", None)
    return tokens if isinstance(tokens, int) and 0 < tokens <= MOST_TOLD_TOKENS else 0


def _text_of(completion: ChatCompletion) -> str:
    try:
        text = completion.choices[0].message.content
    except (AttributeError, IndexError, TypeError):
        return ""
    return text if isinstance(text, str) else ""


def _reply_of(completion: ChatCompletion) -> _Reply:
    try:
        choice = completion.choices[0]
        reason, refusal = choice.finish_reason, choice.message.refusal
    except (AttributeError, IndexError, TypeError):
        return _Reply("", cut=False)
    if reason == "content_filter" or refusal:
        raise StepError(FailureClass.CONTENT, "the model or its provider refuses this conversation")
    return _Reply(_text_of(completion), cut=reason == "length")


def _moved(candidate: Candidate, by: int) -> Candidate:
    """From places in a part to places in the whole."""
    return replace(candidate, quotes=[Quote(quote.utterance + by, quote.text) for quote in candidate.quotes])


def _proposal(verdict: Verdict, compared: Compared) -> Proposal:
    place = (verdict.known or 0) - 1
    known = compared.known[place] if 0 <= place < len(compared.known) else None
    return Proposal(verdict.action, known) if known else ADD
