"""Who the caller is, and the credentials of its project: `client.identity`."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._convert import identities as requests
from ricordo._convert.identities import (
    decode_account,
    decode_client_secret,
    decode_token,
    decode_who_am_i,
)
from ricordo._convert.paging import at_page
from ricordo.v1.identity_service_pb2 import GetSigningKeysRequest, WhoAmIRequest


class AsyncIdentity:
    """Who the caller is, service accounts and tokens.

    Accounts are managed by services with the role admin; others get `MemoryAuthError`. A `request_id` (at most 128
    characters, kept 24 hours) makes a repeat by the caller safe; without one, each call makes its own. `timeout` is
    in seconds, retries included (None: the client's).
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def who_am_i(self, *, timeout: float | None = None) -> models.WhoAmI:
        """Says what the server makes of the credential.

        Raises:
            MemoryAuthError: It accepts none.
        """
        reply = await self._connection.call(lambda stubs: stubs.identity.WhoAmI, WhoAmIRequest(), timeout)
        return decode_who_am_i(reply)

    async def issue_token(
        self,
        user_ids: Sequence[str] = (),
        *,
        client_id: str = "",
        client_secret: str = "",
        lifetime: timedelta | None = None,
        timeout: float | None = None,
    ) -> models.AccessToken:
        """A token for a service account, or for an end user's own client.

        Args:
            user_ids: For an end user: first the person, then shared actors such as a team; at most 16. The token
                writes in these users' names only.
            client_id: The service account that asks; "": the credential of this client, for an end user only.
            client_secret: Its secret.
            lifetime: At most an hour; None: that, for end users 15 minutes.
            timeout: Seconds.

        Raises:
            MemoryAuthError: The client is unknown, or its secret another; or it may not write, and asks for an end
                user.
        """
        request = requests.issue_token_request(
            client_id=client_id, client_secret=client_secret, user_ids=user_ids, lifetime=lifetime
        )
        reply = await self._connection.call(lambda stubs: stubs.identity.IssueToken, request, timeout)
        return decode_token(reply)

    async def signing_keys(self, *, timeout: float | None = None) -> dict[str, Any]:
        """The public keys of the server's tokens, as a JSON Web Key Set (RFC 7517)."""
        reply = await self._connection.call(
            lambda stubs: stubs.identity.GetSigningKeys, GetSigningKeysRequest(), timeout
        )
        keys: dict[str, Any] = json.loads(reply.jwks_json)
        return keys

    async def create_service_account(
        self,
        name: str,
        *,
        role: models.ProjectRole | str,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.ClientSecret:
        """Makes a service account, and answers its secret this once.

        Args:
            name: 2 to 63 of `[a-z0-9-]`, first a letter, last no hyphen; unique in the project.
            role: "reader", "writer" or "admin".
            request_id: Makes a repeat safe; its answer has no secret.
            timeout: Seconds.

        Raises:
            AlreadyExistsError: The name is taken.
        """
        request = requests.create_service_account_request(name, role=role, request_id=request_id)
        reply = await self._connection.call(
            lambda stubs: stubs.identity.CreateServiceAccount, request, timeout
        )
        return decode_client_secret(reply)

    def list_service_accounts(
        self, *, page_size: int | None = None, page_token: str = "", timeout: float | None = None
    ) -> AsyncPager[models.ServiceAccount]:
        """Lists service accounts by name; nothing is fetched until iterated.

        Args:
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            timeout: Seconds for each page.
        """
        request = requests.list_service_accounts_request(page_size=page_size)

        async def fetch(token: str) -> models.Page[models.ServiceAccount]:
            asked = at_page(request, token)
            reply = await self._connection.call(
                lambda stubs: stubs.identity.ListServiceAccounts, asked, timeout
            )
            return models.Page(tuple(map(decode_account, reply.service_accounts)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def update_service_account(
        self,
        client_id: str,
        *,
        role: models.ProjectRole | str,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.ServiceAccount:
        """Gives another role, which tokens that are out have within a minute.

        Raises:
            NotFoundError: There is no such account.
        """
        request = requests.update_service_account_request(client_id, role=role, request_id=request_id)
        reply = await self._connection.call(
            lambda stubs: stubs.identity.UpdateServiceAccount, request, timeout
        )
        return decode_account(reply.service_account)

    async def rotate_secret(
        self,
        client_id: str,
        *,
        overlap: timedelta | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.ClientSecret:
        """Makes a new secret, and answers it this once; any but the one before ends now.

        Args:
            client_id: The account.
            overlap: How long the secret before stays good, at most 30 days; None: a day.
            request_id: Makes a repeat safe; its answer has no secret.
            timeout: Seconds.

        Raises:
            NotFoundError: There is no such account.
        """
        request = requests.rotate_secret_request(client_id, overlap=overlap, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.identity.RotateSecret, request, timeout)
        return decode_client_secret(reply)

    async def disable_service_account(
        self, client_id: str, *, request_id: str | None = None, timeout: float | None = None
    ) -> models.ServiceAccount:
        """Ends its use: it gets no tokens, and those it has are refused within 60 s.

        Raises:
            NotFoundError: There is no such account.
        """
        request = requests.disable_request(client_id, request_id=request_id)
        reply = await self._connection.call(
            lambda stubs: stubs.identity.DisableServiceAccount, request, timeout
        )
        return decode_account(reply.service_account)

    async def enable_service_account(
        self, client_id: str, *, request_id: str | None = None, timeout: float | None = None
    ) -> models.ServiceAccount:
        """Allows it again.

        Raises:
            NotFoundError: There is no such account.
        """
        request = requests.enable_request(client_id, request_id=request_id)
        reply = await self._connection.call(
            lambda stubs: stubs.identity.EnableServiceAccount, request, timeout
        )
        return decode_account(reply.service_account)

    async def delete_service_account(
        self, client_id: str, *, request_id: str | None = None, timeout: float | None = None
    ) -> None:
        """Deletes it for good; its tokens are refused within 60 s.

        Raises:
            NotFoundError: There is no such account.
        """
        request = requests.delete_request(client_id, request_id=request_id)
        await self._connection.call(lambda stubs: stubs.identity.DeleteServiceAccount, request, timeout)
