"""IdentityService: who the caller is."""

from typing import Any

from ricordo.v1 import identity_service_pb2, identity_service_pb2_grpc
from ricordo_server.rpc.calls import read_call
from ricordo_server.rpc.convert.enums import encode_enum

pb = identity_service_pb2


class IdentityService(identity_service_pb2_grpc.IdentityServiceServicer):
    async def WhoAmI(self, request: pb.WhoAmIRequest, context: Any) -> pb.WhoAmIResponse:
        principal = read_call().principal
        return pb.WhoAmIResponse(
            principal_id=principal.principal_id,
            kind=encode_enum(principal.kind, pb.PrincipalKind.DESCRIPTOR),
            project_id=str(principal.project_id or ""),
            roles=sorted(principal.roles),
            user_ids=principal.user_ids,
        )
