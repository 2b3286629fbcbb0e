"""Mutated bytes, sizes beyond every limit, texts and vectors of bad faith: refused, cheaply, and never a fault."""

import json
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message

from ricordo.v1 import (
    context_service_pb2,
    filter_pb2,
    memory_pb2,
    memory_service_pb2,
    metadata_pb2,
    scope_pb2,
    search_pb2,
    session_service_pb2,
    turn_pb2,
)
from ricordo_server.domain.limits import MAX_REQUEST_BYTES
from tests.cli.programs import environment_of, started
from tests.fixtures.calls import bytes_call
from tests.fixtures.database import TestDatabase, make_project
from tests.isolation.rpc_world import RPCS, Names
from tests.isolation.test_every_rpc import CASES
from tests.proof.conftest import Tally
from tests.proof.world import at_once, channel  # noqa: F401 - a fixture
from tests.rpc.test_mutated_requests import FAULTS, SEEDS, method_of, mutated, outcome

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("hostile_input")]

MUTANTS = 50_000
MAX_GROWTH_BYTES = 50 * 1024 * 1024
REFUSED = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED}
OPERATOR = [("authorization", "Bearer development:operator")]


def path_of(rpc: str) -> str:
    return f"/{RPCS[rpc].containing_service.full_name}/{RPCS[rpc].name}"


def seeds() -> list[tuple[str, bytes]]:
    """Requests of every RPC, as whoever may call it."""
    of_cases = [
        (path_of(rpc), request.SerializeToString())
        for rpc, case in CASES.items()
        for request in case(Names())
    ]
    return of_cases + [(method_of(seed), seed.SerializeToString()) for seed in SEEDS]


def memory_of(process: int | str) -> int:
    """Bytes that are resident now."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


async def test_mutated_requests(
    channel: grpc.aio.Channel,  # noqa: F811
    tally: Tally,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("CRITICAL", logger="ricordo.access")  # pytest would keep a record of each call
    chance = random.Random(7)
    known = seeds()

    async def send(number: int) -> None:
        path, data = known[number % len(known)]
        metadata = OPERATOR if "AdminService" in path else None
        mutant = mutated(data, chance)
        code = await outcome(bytes_call(channel, path)(mutant, metadata=metadata))
        tally.count(code not in FAULTS, (path, mutant, code))

    await at_once(range(MUTANTS // 5), send)  # what grows once, such as caches
    before = memory_of("self")
    await at_once(range(MUTANTS - MUTANTS // 5), send)
    growth = memory_of("self") - before
    tally.count(growth < MAX_GROWTH_BYTES, f"{growth} bytes more")
    assert not tally.failures


async def test_a_message_beyond_the_limit_is_never_held(
    database: TestDatabase, tmp_path: Path, tally: Tally
) -> None:
    """By a server in a process of its own: this one's client holds them."""
    body = b"x" * (MAX_REQUEST_BYTES + 1)
    environment = environment_of(
        {"database_url": database.app_url, "operator_url": database.operator_url}
        | {"development_project": make_project(database)}
    )
    with started(tmp_path, "serve", "--port", "0", **environment) as program:
        target = program.wait_for(r"ready on (127\.0\.0\.1:\d+)")[1]
        async with grpc.aio.insecure_channel(target) as opened:
            for _ in range(20):  # the transport's own buffers are made once
                await outcome(bytes_call(opened, path_of("IdentityService.WhoAmI"))(body))
            before = memory_of(program.process.pid)
            for rpc in CASES:
                code = await outcome(bytes_call(opened, path_of(rpc))(body, metadata=OPERATOR))
                tally.count(code is grpc.StatusCode.RESOURCE_EXHAUSTED, (rpc, code))
            growth = memory_of(program.process.pid) - before
    tally.count(growth < MAX_GROWTH_BYTES, f"{growth} bytes more, of {tally.cases} bodies")
    assert not tally.failures


def a_memory(content: str, **fields: object) -> memory_pb2.Memory:
    return memory_pb2.Memory(
        kind=memory_pb2.MEMORY_KIND_SEMANTIC,
        content=content,
        scope=scope_pb2.Scope(user_id="ann"),
        **fields,  # type: ignore[arg-type]
    )


def creation(content: str, **fields: object) -> Message:
    return memory_service_pb2.CreateMemoryRequest(memory=a_memory(content, **fields))


def search(**options: object) -> Message:
    return memory_service_pb2.SearchMemoriesRequest(
        options=search_pb2.SearchOptions(**options),  # type: ignore[arg-type]
        scope=scope_pb2.ScopeFilter(matching=scope_pb2.Scope(user_id="ann")),
    )


def nested(depth: int) -> metadata_pb2.MetadataValue:
    value = metadata_pb2.MetadataValue(int64_value=1)
    for _ in range(depth):
        outer = metadata_pb2.MetadataValue()
        outer.list_value.values.append(value)
        value = outer
    return value


def deep_filter(depth: int) -> filter_pb2.Filter:
    node = filter_pb2.Filter()
    for _ in range(depth):
        outer = filter_pb2.Filter()
        outer.negated.CopyFrom(node)
        node = outer
    return node


def beyond() -> Iterator[tuple[str, Message]]:
    """What must be refused."""
    lone = float("nan"), float("inf"), -float("inf")
    vectors = [[value] + [0.0] * 63 for value in lone]
    vectors += [[0.0] * 64, [1.0] * 63, [1.0] * 65, [1.0] * 50_000]
    for vector in vectors:
        yield f"vector of {len(vector)}, {vector[0]}", search(query_embedding=vector)
    yield "NUL", creation("a\0b")
    yield "one word of 1 MB", creation("x" * 1_000_000)
    yield (
        "metadata of 100,000 keys",
        creation(
            "x",
            metadata={f"k{number}": metadata_pb2.MetadataValue(int64_value=1) for number in range(100_000)},
        ),
    )
    yield "metadata of depth 90", creation("x", metadata={"k": nested(40)})
    yield "filter of depth 90", memory_service_pb2.ListMemoriesRequest(filter=deep_filter(90))
    yield "a query of 10,000 terms", search(query=" ".join(f"term{number}" for number in range(10_000)))
    for name, text in (
        ("JSON of depth 10,000", "[" * 10_000 + "]" * 10_000),
        ("JSON objects of depth 10,000", '{"a":' * 10_000 + "1" + "}" * 10_000),
        ("no JSON", "{"),
        ("JSON with NaN", "[NaN]"),
        ("JSON with a lone surrogate", '["\\ud800"]'),
        ("JSON with NUL", '["\\u0000"]'),
        ("JSON of 100,000 keys", json.dumps({f"key-{number}": 1 for number in range(100_000)})),
    ):
        yield (
            name,
            session_service_pb2.RecordTurnRequest(
                scope=scope_pb2.Scope(user_id="ann"), turn=turn_pb2.Turn(role="user", data_json=text)
            ),
        )


def accepted() -> Iterator[tuple[str, Message]]:
    """What must be taken as it is."""
    yield "distinct words", creation(" ".join(f"w{number}" for number in range(30_000)))
    yield "one long word", creation("x" * 250_000)
    for name, text in (
        ("right to left", "مرحبا بالعالم שלום \u202e"),
        ("combining", "e" + "\u0301" * 5_000),
        ("astral", "\U0010ffff" * 1_000),
        ("controls", "".join(map(chr, range(1, 32)))),
    ):
        yield name, creation(text)


async def test_what_is_beyond_the_limits_is_refused(
    channel: grpc.aio.Channel,  # noqa: F811
    tally: Tally,
) -> None:
    for name, request in beyond():
        call = bytes_call(channel, method_of(request))
        code = await outcome(call(request.SerializeToString()))
        tally.count(code in REFUSED, (name, code))
    assert not tally.failures


async def test_lone_surrogates_are_refused(channel: grpc.aio.Channel, tally: Tally) -> None:  # noqa: F811
    """As bytes: no library of protobuf would write them."""
    plain = creation("surrogate-here").SerializeToString()
    for surrogate in (b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xc0\x80", b"\xf5\x80\x80\x80"):
        data = plain.replace(b"surrogate-here", surrogate.ljust(14, b"x"))
        code = await outcome(bytes_call(channel, method_of(creation("")))(data))
        tally.count(code is grpc.StatusCode.INVALID_ARGUMENT, (surrogate, code))
    assert not tally.failures


async def test_strange_texts_are_kept(channel: grpc.aio.Channel, tally: Tally) -> None:  # noqa: F811
    for name, request in accepted():
        call = bytes_call(channel, method_of(request))
        code = await outcome(call(request.SerializeToString(), timeout=60))
        tally.count(code is grpc.StatusCode.OK, (name, code))
    assert not tally.failures


BOMBS = [
    "& | ! ( ) <-> :*" * 300,
    "(" * 4_000,
    "!" * 8_000,
    "a <-> " * 1_300,
    "'" * 8_000,
    "\\" * 8_000,
    "a:*b" * 2_000,
    " ".join(f"t{number}" for number in range(1_400)),
    "喜" * 2_700,
    "a.b/c-d_e@f:g?h=i&j " * 400,
    "http://" * 1_100,
    "<tag " * 1_600,
]


async def test_queries_of_bad_faith_end_within_a_second(
    channel: grpc.aio.Channel,  # noqa: F811
    tally: Tally,
) -> None:
    call = bytes_call(channel, "/ricordo.v1.MemoryService/SearchMemories")
    for mode in (search_pb2.SEARCH_MODE_TEXT, search_pb2.SEARCH_MODE_HYBRID):
        for bomb in BOMBS:
            request = search(query=bomb, mode=mode).SerializeToString()
            start = time.monotonic()
            code = await outcome(call(request, timeout=30))
            seconds = time.monotonic() - start
            tally.count(
                code in REFUSED or (code is grpc.StatusCode.OK and seconds <= 1.0), (bomb[:20], code, seconds)
            )
    context = context_service_pb2.BuildContextRequest(query="x " * 5_000)
    code = await outcome(bytes_call(channel, method_of(context))(context.SerializeToString()))
    tally.count(code in REFUSED, ("context", code))
    assert not tally.failures
