"""BuildContext by the project's template, and what UpdateProject makes of one."""

from typing import Any

import grpc
import pytest

from ricordo.v1 import (
    context_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    metadata_pb2,
    project_pb2,
    project_service_pb2_grpc,
)
from ricordo.v1 import context_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from tests.fixtures.project_settings import update

FACTS = ["tea is green", "# tea\n## and more", "tea costs two"]
LIST = "Notes on {{ query }}:\n{% for chunk in chunks %}\n- {{ chunk.content }}\n{% endfor %}"
JINJA2 = context_pb2.CONTEXT_FORMAT_JINJA2


@pytest.fixture
async def projects(channel: grpc.aio.Channel) -> Any:
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    for fact in FACTS:
        memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=fact)
        memory.metadata["cost"].CopyFrom(metadata_pb2.MetadataValue(string_value="two"))
        await memories.CreateMemory(memory_service_pb2.CreateMemoryRequest(memory=memory))
    return project_service_pb2_grpc.ProjectServiceStub(channel)


def use(template: str, **defaults: Any) -> Any:
    return update(context=project_pb2.ContextDefaults(template=template, **defaults))


async def build(contexts: Any, **fields: Any) -> pb.BuildContextResponse:
    asked = {"query": "tea", "format": JINJA2, "include_memories": True, **fields}
    answer: pb.BuildContextResponse = await contexts.BuildContext(pb.BuildContextRequest(**asked))
    return answer


async def test_without_a_template_it_reads_as_markdown(projects: Any, contexts: Any) -> None:
    answer = await build(contexts)
    assert answer.text == (await build(contexts, format=context_pb2.CONTEXT_FORMAT_MARKDOWN)).text
    assert answer.format == JINJA2


async def test_the_project_overrides_it(projects: Any, contexts: Any) -> None:
    await projects.UpdateProject(use(LIST))
    lines = (await build(contexts)).text.splitlines()
    assert lines[0] == "Notes on tea:"
    assert sorted(lines[1:]) == ["  > ## and more", "- # tea", "- tea costs two", "- tea is green"]


async def test_it_may_be_the_projects_default(projects: Any, contexts: Any) -> None:
    await projects.UpdateProject(use(LIST, format=JINJA2))
    answer = await build(contexts, format=context_pb2.CONTEXT_FORMAT_UNSPECIFIED)
    assert (answer.format, answer.text.startswith("Notes")) == (JINJA2, True)


async def test_the_budget_holds_for_the_rendered_text(projects: Any, contexts: Any) -> None:
    await projects.UpdateProject(use(LIST))
    whole = await build(contexts)
    answer = await build(contexts, max_tokens=500 + whole.token_count - 1, explain=True)
    assert 0 < answer.token_count < whole.token_count
    assert len(answer.chunks) + len(answer.left_out) == len(FACTS)


async def test_a_template_is_kept_and_taken_back(projects: Any) -> None:
    changed = await projects.UpdateProject(use(LIST))
    assert changed.project.settings.context.template == LIST
    changed = await projects.UpdateProject(use(""))
    assert not changed.project.settings.context.HasField("template")


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("a\n{% for chunk in memories %}{% endfor %}", "line 2: no 'memories'"),
        ("{{ chunks[0].text }}", "line 1: no field 'text'"),
        ("{% set x = 1 %}", "line 1: Assign"),
        ("x" * 8193, "8192"),
    ],
)
async def test_a_template_that_fails_is_refused_with_its_line(
    projects: Any, template: str, told: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await projects.UpdateProject(use(template))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert told in refused.value.details()
    assert "project.settings.context.template" in str(refused.value.trailing_metadata())


async def test_a_template_that_fails_on_what_was_found_is_said(projects: Any, contexts: Any) -> None:
    """The sample of UpdateProject has no metadata, so it never came to the comparison."""
    condition = "chunk.metadata.cost is defined and chunk.metadata.cost > 1"
    careless = "{% for chunk in chunks %}\n{% if " + condition + " %}x{% endif %}{% endfor %}"
    await projects.UpdateProject(use(careless))
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await build(contexts)
    assert failed.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "line 2" in failed.value.details()
    assert (await build(contexts, format=context_pb2.CONTEXT_FORMAT_MARKDOWN)).text
