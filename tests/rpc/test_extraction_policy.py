"""What a project may say of extraction, and what it answers."""

import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import memory_pb2, project_pb2
from ricordo.v1 import project_service_pb2 as pb
from ricordo.v1 import project_service_pb2_grpc as stubs
from tests.fixtures.calls import refusal

Policy = project_pb2.ExtractionPolicy


def update(policy: project_pb2.ExtractionPolicy) -> pb.UpdateProjectRequest:
    project = project_pb2.Project(settings=project_pb2.ProjectSettings(extraction=policy))
    return pb.UpdateProjectRequest(project=project, update_mask=FieldMask(paths=["settings.extraction"]))


async def test_a_policy_is_kept_and_its_absence_is_the_default(channel: grpc.aio.Channel) -> None:
    projects = stubs.ProjectServiceStub(channel)
    assert not (await projects.GetProject(pb.GetProjectRequest())).project.settings.HasField("extraction")
    given = Policy(enabled=False, turn_count=0, idle=Duration(seconds=60), topic_shift=0.5, overlap=0)
    given.kinds.append(memory_pb2.MEMORY_KIND_EPISODIC)
    assert (await projects.UpdateProject(update(given))).project.settings.extraction == given
    assert (await projects.GetProject(pb.GetProjectRequest())).project.settings.extraction == given
    cleared = (await projects.UpdateProject(update(Policy()))).project.settings
    assert not cleared.HasField("extraction")


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (Policy(turn_count=101), "turn_count"),
        (Policy(turn_count=-1), "turn_count"),
        (Policy(idle=Duration(seconds=86_401)), "idle"),
        (Policy(idle=Duration(seconds=-1)), "idle"),
        (Policy(topic_shift=1.1), "topic_shift"),
        (Policy(topic_shift=float("nan")), "topic_shift"),
        (Policy(overlap=21), "overlap"),
        (Policy(kinds=[memory_pb2.MEMORY_KIND_DOCUMENT]), "kinds"),
        (Policy(kinds=[99]), "kinds"),  # type: ignore[list-item]
    ],
)
async def test_a_bad_policy_names_its_field(
    channel: grpc.aio.Channel, policy: project_pb2.ExtractionPolicy, field: str
) -> None:
    call = stubs.ProjectServiceStub(channel).UpdateProject(update(policy))
    assert (await refusal(call))[2] == f"project.settings.extraction.{field}"
