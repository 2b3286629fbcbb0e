"""Pipelines: sessions become documents in the background: `client.memory_pipelines`."""

from datetime import timedelta

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._convert import pipelines as requests
from ricordo._convert.paging import at_page
from ricordo._convert.pipelines import decode_pipeline, decode_run


class AsyncMemoryPipelines:
    """Makes, changes and runs pipelines; for services.

    A pipeline is named by its id and the store whose sessions it reads. A worker has to run (`ricordo work`). On
    every call, `timeout` is in seconds, retries included (None: the client's), and a `request_id` makes a repeat by
    the caller safe. Failures are `MemoryAPIError`s.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create(
        self,
        session_store: str,
        memory_store: str,
        *,
        display_name: str = "",
        model: str = "",
        instructions: str = "",
        trigger: models.PipelineTrigger | str = models.PipelineTrigger.MANUAL,
        period: timedelta | None = None,
        enabled: bool = True,
        endpoint: str = "",
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Pipeline:
        """Makes a pipeline, one for each pair of stores.

        Args:
            session_store: The store whose sessions are read.
            memory_store: The store whose documents are written; it may be the same.
            display_name: A name for people.
            model: A model of the endpoint; "": the endpoint's own.
            instructions: In place of the prompt for facts, at most 4,096 characters.
            trigger: "manual", or "scheduled": also by itself, once in each period.
            period: An hour to 30 days; None: 24 hours.
            enabled: False: its schedule rests.
            endpoint: The name of an endpoint; "": that of the store that is read.
            request_id: Makes a repeat safe.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: The two stores have one.
            NotFoundError: There is no such store.
        """
        request = requests.create_pipeline_request(
            session_store,
            memory_store,
            display_name=display_name,
            model=model,
            instructions=instructions,
            trigger=trigger,
            period=period,
            enabled=enabled,
            endpoint=endpoint,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.pipelines.CreatePipeline, request, timeout)
        return decode_pipeline(reply.pipeline)

    async def get(
        self, pipeline_id: str, *, session_store: str, timeout: float | None = None
    ) -> models.Pipeline:
        """Reads a pipeline.

        Raises:
            NotFoundError: There is none.
        """
        request = requests.get_pipeline_request(pipeline_id, session_store=session_store)
        reply = await self._connection.call(lambda stubs: stubs.pipelines.GetPipeline, request, timeout)
        return decode_pipeline(reply.pipeline)

    def list(
        self,
        session_store: str,
        *,
        page_size: int | None = None,
        page_token: str = "",
        timeout: float | None = None,
    ) -> AsyncPager[models.Pipeline]:
        """Lists the pipelines that read a store, oldest first; nothing is fetched until iterated.

        Args:
            session_store: The store.
            page_size: Pipelines fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            timeout: Seconds for each page.
        """
        request = requests.list_pipelines_request(session_store=session_store, page_size=page_size)

        async def fetch(token: str) -> models.Page[models.Pipeline]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.pipelines.ListPipelines, asked, timeout)
            return models.Page(tuple(map(decode_pipeline, reply.pipelines)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def update(
        self,
        pipeline_id: str,
        *,
        session_store: str,
        display_name: str | None = None,
        model: str | None = None,
        instructions: str | None = None,
        trigger: models.PipelineTrigger | str | None = None,
        period: timedelta | None = None,
        enabled: bool | None = None,
        endpoint: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Pipeline:
        """Changes what is given; "" clears a text. The arguments are those of `create`.

        Raises:
            MemoryClientError: Nothing is given.
            NotFoundError: There is no such pipeline.
        """
        request = requests.update_pipeline_request(
            pipeline_id,
            session_store=session_store,
            display_name=display_name,
            model=model,
            instructions=instructions,
            trigger=trigger,
            period=period,
            enabled=enabled,
            endpoint=endpoint,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.pipelines.UpdatePipeline, request, timeout)
        return decode_pipeline(reply.pipeline)

    async def pause(
        self, pipeline_id: str, *, session_store: str, timeout: float | None = None
    ) -> models.Pipeline:
        """Has the schedule rest; the pipeline can still be run by hand."""
        return await self.update(pipeline_id, session_store=session_store, enabled=False, timeout=timeout)

    async def resume(
        self, pipeline_id: str, *, session_store: str, timeout: float | None = None
    ) -> models.Pipeline:
        """Ends a pause."""
        return await self.update(pipeline_id, session_store=session_store, enabled=True, timeout=timeout)

    async def delete(
        self,
        pipeline_id: str,
        *,
        session_store: str,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Deletes a pipeline with its runs; the documents stay. One made anew reads every session again.

        Raises:
            NotFoundError: There is no such pipeline.
        """
        request = requests.delete_pipeline_request(
            pipeline_id, session_store=session_store, request_id=request_id
        )
        await self._connection.call(lambda stubs: stubs.pipelines.DeletePipeline, request, timeout)

    async def run(
        self,
        pipeline_id: str,
        *,
        session_store: str,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.PipelineRun:
        """Begins a run in the background; `get_run` says where it is.

        Raises:
            MemoryBadRequestError: One waits or is under way (PIPELINE_RUNNING; `metadata["run_id"]`).
            NotFoundError: There is no such pipeline.
        """
        request = requests.run_pipeline_request(
            pipeline_id, session_store=session_store, request_id=request_id
        )
        reply = await self._connection.call(lambda stubs: stubs.pipelines.RunPipeline, request, timeout)
        return decode_run(reply.run)

    def list_runs(
        self,
        pipeline_id: str,
        *,
        session_store: str,
        page_size: int | None = None,
        page_token: str = "",
        timeout: float | None = None,
    ) -> AsyncPager[models.PipelineRun]:
        """Lists the runs of a pipeline, newest first; nothing is fetched until iterated."""
        request = requests.list_runs_request(pipeline_id, session_store=session_store, page_size=page_size)

        async def fetch(token: str) -> models.Page[models.PipelineRun]:
            asked = at_page(request, token)
            reply = await self._connection.call(
                lambda stubs: stubs.pipelines.ListPipelineRuns, asked, timeout
            )
            return models.Page(tuple(map(decode_run, reply.runs)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def get_run(
        self, run_id: str, *, session_store: str, timeout: float | None = None
    ) -> models.PipelineRun:
        """Reads a run.

        Raises:
            NotFoundError: There is none.
        """
        request = requests.get_run_request(run_id, session_store=session_store)
        reply = await self._connection.call(lambda stubs: stubs.pipelines.GetPipelineRun, request, timeout)
        return decode_run(reply.run)
