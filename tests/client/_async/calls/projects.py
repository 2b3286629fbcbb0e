"""A project, and the installation it is in."""

from ricordo import models
from ricordo.v1 import admin_service_pb2 as admin
from ricordo.v1 import embedding_model_pb2, failure_pb2, project_pb2
from ricordo.v1 import project_service_pb2 as project
from ricordo.v1.audit_pb2 import AUDIT_OUTCOME_DONE, AuditRecord
from tests.client._async.calls.case import RECEIPT, Case, first
from tests.fixtures.client_samples import NOON_WIRE, wire_project

MODEL = embedding_model_pb2.EmbeddingModel(
    name="m",
    dimension=8,
    state=embedding_model_pb2.EMBEDDING_MODEL_STATE_PREPARING,
    done_count=2,
    refused_count=1,
    total_count=3,
)

CASES: dict[str, Case] = {
    "GetProject": Case(
        lambda client: client.project.get(),
        project.GetProjectResponse(project=wire_project()),
        lambda found: found.project_id == "p1" and found.language is None,
        {},
    ),
    "UpdateProject": Case(
        lambda client: client.project.update(
            models.ProjectChanges(metadata_keys=[models.MetadataKey(name="plan", value_type="string")]),
            expected_revision=3,
            force=True,
        ),
        project.UpdateProjectResponse(project=wire_project()),
        lambda found: found.project_id == "p1",
        {"update_mask.paths": ["settings.metadata_keys"], "expected_revision": 3, "force": True},
    ),
    "DeleteProject": Case(
        lambda client: client.admin.delete_project("p1"),
        admin.DeleteProjectResponse(receipt=RECEIPT),
        lambda receipt: receipt.total == 5,
        {"project_id": "p1", "force": False},
    ),
    "ListEmbeddingModels": Case(
        lambda client: client.project.list_embedding_models(),
        project.ListEmbeddingModelsResponse(embedding_models=[MODEL]),
        lambda found: [(model.name, model.done_count, model.total_count) for model in found] == [("m", 2, 3)],
        {},
    ),
    "RegisterEmbeddingModel": Case(
        lambda client: client.project.register_embedding_model("m"),
        project.RegisterEmbeddingModelResponse(embedding_model=MODEL),
        lambda model: (model.state, model.refused_count) == (models.EmbeddingModelState.PREPARING, 1),
        {"name": "m"},
    ),
    "SwitchEmbeddingModel": Case(
        lambda client: client.project.switch_embedding_model("m", force=True),
        project.SwitchEmbeddingModelResponse(embedding_model=MODEL),
        lambda model: model.dimension == 8,
        {"name": "m", "force": True},
    ),
    "DropEmbeddingModel": Case(
        lambda client: client.project.drop_embedding_model("m"),
        project.DropEmbeddingModelResponse(embedding_model=MODEL),
        lambda model: model.name == "m",
        {"name": "m"},
    ),
    "ListAuditRecords": Case(
        lambda client: first(client.project.list_audit_records(page_size=7)),
        project.ListAuditRecordsResponse(
            records=[AuditRecord(action="CreateStore", outcome=AUDIT_OUTCOME_DONE, create_time=NOON_WIRE)]
        ),
        lambda record: (record.action, record.outcome) == ("CreateStore", models.AuditOutcome.DONE),
        {"page_size": 7},
    ),
    "ListOperatorRecords": Case(
        lambda client: first(client.admin.list_operator_records(project_id="p1", page_size=7)),
        admin.ListOperatorRecordsResponse(
            records=[AuditRecord(action="CreateProject", outcome=AUDIT_OUTCOME_DONE, create_time=NOON_WIRE)]
        ),
        lambda record: record.action == "CreateProject",
        {"project_id": "p1", "page_size": 7},
    ),
    "CreateOrganization": Case(
        lambda client: client.admin.create_organization("Acme"),
        admin.CreateOrganizationResponse(organization=project_pb2.Organization(organization_id="o1")),
        lambda organization: organization.organization_id == "o1",
        {"organization.display_name": "Acme"},
    ),
    "CreateProject": Case(
        lambda client: client.admin.create_project("One", organization_id="o1", language="simple"),
        admin.CreateProjectResponse(project=wire_project()),
        lambda made: made.project_id == "p1",
        {"project.organization_id": "o1", "project.settings.language": "simple"},
    ),
    "GetProjectLimits": Case(
        lambda client: client.admin.get_project_limits("p1"),
        admin.GetProjectLimitsResponse(
            limits=project_pb2.ProjectLimits(stored_memories=0),
            usage=project_pb2.ProjectUsage(stored_bytes=5),
        ),
        lambda found: found == (models.ProjectLimits(stored_memories=0), models.ProjectUsage(stored_bytes=5)),
        {"project_id": "p1"},
    ),
    "UpdateProjectLimits": Case(
        lambda client: client.admin.update_project_limits(
            "p1", models.ProjectLimits(stored_memories=0, stored_bytes=None)
        ),
        admin.UpdateProjectLimitsResponse(limits=project_pb2.ProjectLimits(stored_memories=0)),
        lambda limits: limits == models.ProjectLimits(stored_memories=0),
        {
            "project_id": "p1",
            "limits.stored_memories": 0,
            "update_mask.paths": ["stored_memories", "stored_bytes"],
        },
    ),
    "ListProjects": Case(
        lambda client: first(client.admin.list_projects(organization_id="o1")),
        admin.ListProjectsResponse(projects=[wire_project()]),
        lambda found: found.display_name == "One",
        {"organization_id": "o1"},
    ),
    "GetQueueStatus": Case(
        lambda client: client.admin.get_queue_status(project_id="p1"),
        admin.GetQueueStatusResponse(
            workers=1,
            total=admin.QueueCounts(waiting=2, last_failure_class=failure_pb2.FAILURE_CLASS_CONTENT),
            projects=[admin.ProjectQueue(project_id="p1", counts=admin.QueueCounts(failed=3))],
        ),
        lambda status: (
            (status.total.waiting, status.total.last_failure_class, status.projects[0].counts.failed)
            == (2, "content", 3)
        ),
        {"project_id": "p1"},
    ),
}
