"""The job queue's numbers."""

from ricordo.v1 import admin_service_pb2 as pb
from ricordo_server.domain.queue import ProjectQueue, QueueCounts, QueueStatus
from ricordo_server.rpc.convert.snapshots import encode_failure_class
from ricordo_server.rpc.convert.times import encode_time


def encode_queue_status(status: QueueStatus) -> pb.GetQueueStatusResponse:
    return pb.GetQueueStatusResponse(
        workers=status.workers,
        total=_encode_counts(status.total),
        projects=map(_encode_project, status.projects),
    )


def _encode_project(queue: ProjectQueue) -> pb.ProjectQueue:
    project_id = str(queue.project_id) if queue.project_id else ""
    return pb.ProjectQueue(project_id=project_id, counts=_encode_counts(queue.counts))


def _encode_counts(counts: QueueCounts) -> pb.QueueCounts:
    return pb.QueueCounts(
        waiting=counts.waiting,
        scheduled=counts.scheduled,
        running=counts.running,
        failed=counts.failed,
        oldest_due_time=encode_time(counts.oldest_due_time),
        last_failure_class=encode_failure_class(counts.last_failure_class),
    )
