"""The tenant and the installation: `client.project`, `client.admin`."""

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._convert import audit, embedding_models
from ricordo._convert import projects as requests
from ricordo._convert.embedding_models import decode_embedding_model
from ricordo._convert.paging import at_page
from ricordo._convert.project_limits import (
    decode_limits,
    decode_usage,
    get_project_limits_request,
    update_project_limits_request,
)
from ricordo._convert.project_settings import update_project_request
from ricordo._convert.projects import decode_organization, decode_project, decode_queue_status
from ricordo.v1.project_service_pb2 import GetProjectRequest, ListEmbeddingModelsRequest


class AsyncProject:
    """The caller's own project."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, *, timeout: float | None = None) -> models.Project:
        """Reads the project of the credential."""
        reply = await self._connection.call(
            lambda stubs: stubs.projects.GetProject, GetProjectRequest(), timeout
        )
        return decode_project(reply.project)

    async def update(
        self,
        changes: models.ProjectChanges,
        *,
        expected_revision: int | None = None,
        force: bool = False,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Project:
        """Changes the settings that `changes` gives; for a service with the role admin. They hold at once.

        Declaring a metadata key or a tag reads and indexes what is stored under it, within this call: a large project
        wants a longer `timeout`.

        Args:
            changes: The new values. A list is replaced whole: add to what `get` answers.
            expected_revision: Refuse when the project is at another one.
            force: Take custom types away although memories of them are left.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            MemoryClientError: `changes` gives nothing.
            RevisionMismatchError: It is not at the expected revision.
            MetadataTypeConflictError: Stored values have another type than is declared.
            CustomTypeNotEmptyError: A type that is taken away has memories.
            MemoryAuthError: The credential may not change the project.
        """
        request = update_project_request(
            changes, expected_revision=expected_revision, force=force, request_id=request_id
        )
        reply = await self._connection.call(lambda stubs: stubs.projects.UpdateProject, request, timeout)
        return decode_project(reply.project)

    async def list_embedding_models(
        self, *, timeout: float | None = None
    ) -> tuple[models.EmbeddingModel, ...]:
        """Lists the embedding models of the installation, as they stand in this project.

        It counts the rows of every store, about a second for a million.

        Raises:
            MemoryAuthError: The credential is not that of a service with the role admin.
        """
        reply = await self._connection.call(
            lambda stubs: stubs.projects.ListEmbeddingModels, ListEmbeddingModelsRequest(), timeout
        )
        return tuple(map(decode_embedding_model, reply.embedding_models))

    async def register_embedding_model(
        self, name: str, *, request_id: str | None = None, timeout: float | None = None
    ) -> models.EmbeddingModel:
        """Prepares a model beside the active one, in the background; nothing changes for reads.

        Args:
            name: A model of the installation.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: The installation has no such model.
            EmbeddingModelInUseError: The project has another one beside the active one: drop it first.
            ServiceUnavailableError: The server cannot embed with it.
            MemoryAuthError: The credential is not that of a service with the role admin.
        """
        request = embedding_models.register_request(name, request_id=request_id)
        reply = await self._connection.call(
            lambda stubs: stubs.projects.RegisterEmbeddingModel, request, timeout
        )
        return decode_embedding_model(reply.embedding_model)

    async def switch_embedding_model(
        self, name: str, *, force: bool = False, request_id: str | None = None, timeout: float | None = None
    ) -> models.EmbeddingModel:
        """Lets reads use a model that is ready; the one they used stays beside it, until it is dropped.

        Args:
            name: A model that this project has prepared.
            force: Although rows would be lost to semantic search until they are completed.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: The installation has no such model.
            EmbeddingModelNotReadyError: It is not prepared, or not ready; `metadata["missing"]` counts the rows.
            ServiceUnavailableError: The server cannot embed with it.
            MemoryAuthError: The credential is not that of a service with the role admin.
        """
        request = embedding_models.switch_request(name, force=force, request_id=request_id)
        reply = await self._connection.call(
            lambda stubs: stubs.projects.SwitchEmbeddingModel, request, timeout
        )
        return decode_embedding_model(reply.embedding_model)

    async def drop_embedding_model(
        self, name: str, *, request_id: str | None = None, timeout: float | None = None
    ) -> models.EmbeddingModel:
        """Takes a model out of use; its vectors in this project are removed in the background.

        Raises:
            NotFoundError: The installation has no such model.
            EmbeddingModelInUseError: Reads use it: switch to another one first.
            MemoryAuthError: The credential is not that of a service with the role admin.
        """
        request = embedding_models.drop_request(name, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.projects.DropEmbeddingModel, request, timeout)
        return decode_embedding_model(reply.embedding_model)

    def list_audit_records(
        self, *, page_size: int | None = None, page_token: str = "", timeout: float | None = None
    ) -> AsyncPager[models.AuditRecord]:
        """Lists who administered the project and who was denied what, newest first; for the role admin.

        Args:
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            timeout: Seconds for each page.
        """
        request = audit.list_audit_records_request(page_size=page_size)

        async def fetch(token: str) -> models.Page[models.AuditRecord]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.projects.ListAuditRecords, asked, timeout)
            return models.Page(tuple(map(audit.decode_record, reply.records)), reply.next_page_token)

        return AsyncPager(fetch, page_token)


class AsyncAdmin:
    """The installation: for operators only, others get `MemoryAuthError`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create_organization(
        self, display_name: str, *, request_id: str | None = None, timeout: float | None = None
    ) -> models.Organization:
        """Creates an organization; its name holds at most 512 bytes."""
        request = requests.create_organization_request(display_name, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.admin.CreateOrganization, request, timeout)
        return decode_organization(reply.organization)

    async def create_project(
        self,
        display_name: str,
        *,
        organization_id: str,
        language: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Project:
        """Creates a project with its store `default`.

        Args:
            display_name: Its name, at most 512 bytes.
            organization_id: The organization it belongs to.
            language: That of text search, as PostgreSQL names it; None: "english".
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such organization.
        """
        request = requests.create_project_request(
            display_name, organization_id=organization_id, language=language, request_id=request_id
        )
        reply = await self._connection.call(lambda stubs: stubs.admin.CreateProject, request, timeout)
        return decode_project(reply.project)

    async def get_project_limits(
        self, project_id: str, *, timeout: float | None = None
    ) -> tuple[models.ProjectLimits, models.ProjectUsage]:
        """Reads what a project may use and what it has used.

        Raises:
            MemoryNotProvisionedError: There is no such project.
        """
        request = get_project_limits_request(project_id)
        reply = await self._connection.call(lambda stubs: stubs.admin.GetProjectLimits, request, timeout)
        return decode_limits(reply.limits), decode_usage(reply.usage)

    async def update_project_limits(
        self,
        project_id: str,
        changes: models.ProjectLimits,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.ProjectLimits:
        """Changes the limits that `changes` gives (None: no limit) and answers all; servers follow within 10 seconds.

        Raises:
            MemoryClientError: `changes` gives nothing.
            MemoryNotProvisionedError: There is no such project.
        """
        request = update_project_limits_request(project_id, changes, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.admin.UpdateProjectLimits, request, timeout)
        return decode_limits(reply.limits)

    def list_projects(
        self,
        *,
        organization_id: str = "",
        page_size: int | None = None,
        page_token: str = "",
        timeout: float | None = None,
    ) -> AsyncPager[models.Project]:
        """Lists projects, newest first; nothing is fetched until iterated.

        Args:
            organization_id: Only of this one.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            timeout: Seconds for each page.
        """
        request = requests.list_projects_request(organization_id=organization_id, page_size=page_size)

        async def fetch(token: str) -> models.Page[models.Project]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.admin.ListProjects, asked, timeout)
            return models.Page(tuple(map(decode_project, reply.projects)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def get_queue_status(
        self, *, project_id: str = "", timeout: float | None = None
    ) -> models.QueueStatus:
        """Says how much background work waits, for whom and since when; numbers only.

        Args:
            project_id: Only of this project; empty: of the installation.
            timeout: Seconds.
        """
        request = requests.get_queue_status_request(project_id)
        reply = await self._connection.call(lambda stubs: stubs.admin.GetQueueStatus, request, timeout)
        return decode_queue_status(reply)

    def list_operator_records(
        self,
        *,
        project_id: str = "",
        page_size: int | None = None,
        page_token: str = "",
        timeout: float | None = None,
    ) -> AsyncPager[models.AuditRecord]:
        """Lists what operators did and were denied, newest first; what happened inside a project is in its own audit.

        Args:
            project_id: Only what was done to this project, also to one that is deleted.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            timeout: Seconds for each page.
        """
        request = audit.list_operator_records_request(project_id=project_id, page_size=page_size)

        async def fetch(token: str) -> models.Page[models.AuditRecord]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.admin.ListOperatorRecords, asked, timeout)
            return models.Page(tuple(map(audit.decode_record, reply.records)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def delete_project(
        self,
        project_id: str,
        *,
        force: bool = False,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.ErasureReceipt:
        """Removes a project with everything in it, from every table; without `force` it only counts.

        It is closed first. A large one takes several calls: each goes on where the one before ran out of time, and
        the last answers what all of them removed.

        Args:
            project_id: The project.
            force: Remove it.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such project.
            DeadlineExceededError: There is more to remove. `metadata["removed_row_count"]` is what this call did.
        """
        request = audit.delete_project_request(project_id, force=force, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.admin.DeleteProject, request, timeout)
        return audit.decode_receipt(reply.receipt)
