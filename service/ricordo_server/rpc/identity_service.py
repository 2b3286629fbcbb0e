"""IdentityService: who the caller is, service accounts, tokens."""

import json
from typing import Any

from ricordo.v1 import identity_service_pb2, identity_service_pb2_grpc
from ricordo_server.app import service_accounts
from ricordo_server.app.services import Services
from ricordo_server.domain.access_token import IssuedToken
from ricordo_server.domain.errors import invalid_field
from ricordo_server.domain.service_account import NewSecret, ServiceAccount
from ricordo_server.rpc.authentication import peer_network
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.checks import check_text
from ricordo_server.rpc.convert.enums import encode_enum
from ricordo_server.rpc.convert.service_accounts import (
    decode_account,
    decode_client_id,
    decode_client_secret,
    decode_lifetime,
    decode_new_role,
    decode_overlap,
    decode_token_users,
    encode_account,
)
from ricordo_server.rpc.convert.times import encode_time
from ricordo_server.rpc.pages import decode_page, encode_page

pb = identity_service_pb2


class IdentityService(identity_service_pb2_grpc.IdentityServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def WhoAmI(self, request: pb.WhoAmIRequest, context: Any) -> pb.WhoAmIResponse:
        principal = read_call().principal
        return pb.WhoAmIResponse(
            principal_id=principal.principal_id,
            kind=encode_enum(principal.kind, pb.PrincipalKind.DESCRIPTOR),
            project_id=str(principal.project_id or ""),
            roles=sorted(principal.roles),
            user_ids=principal.user_ids,
        )

    async def IssueToken(self, request: pb.IssueTokenRequest, context: Any) -> pb.IssueTokenResponse:
        issued = await self._issue(request, peer_network(context.peer()))
        return pb.IssueTokenResponse(
            access_token=issued.access_token, expire_time=encode_time(issued.expire_time)
        )

    async def _issue(self, request: pb.IssueTokenRequest, address: str) -> IssuedToken:
        """The client's own credentials count before that of the call, which there need not be."""
        tokens = self._services.access_tokens
        lifetime, users = decode_lifetime(request), decode_token_users(request.user_ids)
        if request.client_id or request.client_secret:
            client_id, secret = (
                check_text("client_id", request.client_id),
                decode_client_secret(request.client_secret),
            )
            self._services.token_pace.check(address, client_id, secret)
            principal = await tokens.authenticate_client(client_id, secret)
        else:
            principal = read_call().principal
        if users:
            return await tokens.issue_for_users(principal, users, lifetime)
        if not request.client_id:
            raise invalid_field("client_id", "client_id and client_secret are required, or user_ids")
        return await tokens.issue_own(principal, lifetime)

    async def GetSigningKeys(
        self, request: pb.GetSigningKeysRequest, context: Any
    ) -> pb.GetSigningKeysResponse:
        keys = await self._services.access_tokens.key_ring.list_public()
        return pb.GetSigningKeysResponse(jwks_json=json.dumps({"keys": keys}))

    async def CreateServiceAccount(
        self, request: pb.CreateServiceAccountRequest, context: Any
    ) -> pb.CreateServiceAccountResponse:
        draft = decode_account(request.service_account)

        def encode(made: NewSecret) -> pb.CreateServiceAccountResponse:
            return pb.CreateServiceAccountResponse(
                service_account=encode_account(made.account), client_secret=made.client_secret
            )

        return await answer_once(
            request,
            pb.CreateServiceAccountResponse,
            encode,
            lambda call: service_accounts.create_account(self._services, call, draft),
            forget=["client_secret"],
        )

    async def ListServiceAccounts(
        self, request: pb.ListServiceAccountsRequest, context: Any
    ) -> pb.ListServiceAccountsResponse:
        call = read_call()
        page = decode_page(request, call.principal)
        found = await service_accounts.list_accounts(self._services, call, page)
        messages, token = await encode_page(request, call.principal, found, encode_account)
        return pb.ListServiceAccountsResponse(service_accounts=messages, next_page_token=token)

    async def UpdateServiceAccount(
        self, request: pb.UpdateServiceAccountRequest, context: Any
    ) -> pb.UpdateServiceAccountResponse:
        client_id = decode_client_id(request.service_account.client_id, "service_account.client_id")
        role = decode_new_role(request.service_account, request.update_mask.paths)
        return await answer_once(
            request,
            pb.UpdateServiceAccountResponse,
            lambda account: pb.UpdateServiceAccountResponse(service_account=encode_account(account)),
            lambda call: service_accounts.update_role(self._services, call, client_id, role),
        )

    async def RotateSecret(self, request: pb.RotateSecretRequest, context: Any) -> pb.RotateSecretResponse:
        client_id, overlap = decode_client_id(request.client_id), decode_overlap(request)

        def encode(made: NewSecret) -> pb.RotateSecretResponse:
            return pb.RotateSecretResponse(
                service_account=encode_account(made.account), client_secret=made.client_secret
            )

        return await answer_once(
            request,
            pb.RotateSecretResponse,
            encode,
            lambda call: service_accounts.rotate_secret(self._services, call, client_id, overlap),
            forget=["client_secret"],
        )

    async def DisableServiceAccount(
        self, request: pb.DisableServiceAccountRequest, context: Any
    ) -> pb.DisableServiceAccountResponse:
        client_id = decode_client_id(request.client_id)

        def encode(account: ServiceAccount) -> pb.DisableServiceAccountResponse:
            return pb.DisableServiceAccountResponse(service_account=encode_account(account))

        return await answer_once(
            request,
            pb.DisableServiceAccountResponse,
            encode,
            lambda call: service_accounts.set_disabled(self._services, call, client_id, is_disabled=True),
        )

    async def EnableServiceAccount(
        self, request: pb.EnableServiceAccountRequest, context: Any
    ) -> pb.EnableServiceAccountResponse:
        client_id = decode_client_id(request.client_id)

        def encode(account: ServiceAccount) -> pb.EnableServiceAccountResponse:
            return pb.EnableServiceAccountResponse(service_account=encode_account(account))

        return await answer_once(
            request,
            pb.EnableServiceAccountResponse,
            encode,
            lambda call: service_accounts.set_disabled(self._services, call, client_id, is_disabled=False),
        )

    async def DeleteServiceAccount(
        self, request: pb.DeleteServiceAccountRequest, context: Any
    ) -> pb.DeleteServiceAccountResponse:
        client_id = decode_client_id(request.client_id)
        return await answer_once(
            request,
            pb.DeleteServiceAccountResponse,
            lambda _: pb.DeleteServiceAccountResponse(),
            lambda call: service_accounts.delete_account(self._services, call, client_id),
        )
