"""A remote assistant as the official Python SDK's OAuth client makes it: it knows the address of /mcp, and a person who consents."""

import asyncio
import socket
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata, OAuthToken

from vault import Vault

CALLBACK = "http://127.0.0.1:3030/callback"


@pytest.fixture(scope="module")
def vault():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Vault()
    config = made.folder / "memory.toml"
    public = f'port = {port}\npublic_url = "http://127.0.0.1:{port}"'
    lines = config.read_text().split("\n")
    config.write_text("\n".join(public if line.startswith("port = ") else line for line in lines))
    made.write("notes/bread.md", "The sourdough rests overnight in the cold.\n")
    made.write("notes/diary.md", "---\nprivate: true\n---\nSourdough is my secret.\n")
    made.start(str(port))
    yield made
    made.stop()


class Assistant:
    """What an assistant keeps, and its way to the person, who answers at once."""

    def __init__(self, vault, name, decision=None):
        self.vault, self.name = vault, name
        self.decision = decision or {"agent": {"name": name, "rules": {"can_read_user_memory": True}}}
        self.kept = self.client = self.answer = None
        self.asked = 0

    async def get_tokens(self):
        return self.kept

    async def set_tokens(self, tokens):
        self.kept = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client

    async def send_browser(self, address):
        """The person looks at what is asked, and decides."""
        self.asked += 1
        base, query = f"http://{self.vault.address}", urlsplit(address).query
        assert address.startswith(f"{base}/oauth/authorize?"), address
        seen = httpx.post(f"{base}/api/remote/request", json={"query": query}, headers=self.vault.bearer())
        assert seen.json()["name"] == self.name and "problem" not in seen.json(), seen.text
        decided = httpx.post(
            f"{base}/api/remote/consent", json={"query": query, **self.decision}, headers=self.vault.bearer(), timeout=60
        )
        assert decided.status_code == 200, decided.text
        self.answer = {key: values[0] for key, values in parse_qs(urlsplit(decided.json()["address"]).query).items()}

    async def come_back(self):
        assert "error" not in self.answer, self.answer
        return AuthorizationCodeResult(**{key: self.answer[key] for key in ("code", "state", "iss")})

    def provider(self):
        metadata = OAuthClientMetadata(client_name=self.name, redirect_uris=[CALLBACK])
        return OAuthClientProvider(f"http://{self.vault.address}/mcp", metadata, self, self.send_browser, self.come_back)

    async def search(self, query, mode="auto"):
        """Comes in, and asks."""
        async with httpx2.AsyncClient(auth=self.provider(), timeout=60) as http:
            transport = streamable_http_client(f"http://{self.vault.address}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                result = await client.call_tool("search", {"query": query})
                return "\n".join(part.text for part in result.content)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_it_signs_in_and_stays_signed_in(vault, mode):
    async def work():
        assistant = Assistant(vault, f"Python {mode}")
        found = await assistant.search("sourdough", mode)
        assert "notes/bread.md" in found and "diary" not in found
        assert assistant.kept.scope == "vault" and assistant.asked == 1
        # It comes again with what it kept, and the person is not asked.
        assert "notes/bread.md" in await assistant.search("sourdough", mode)
        assert assistant.asked == 1

    asyncio.run(work())


def test_it_renews_its_token_without_a_scope(vault):
    async def work():
        assistant = Assistant(vault, "Renews")
        await assistant.search("sourdough")
        before = assistant.kept
        client = {"client_id": assistant.client.client_id, "grant_type": "refresh_token"}
        form = {**client, "refresh_token": before.refresh_token}
        renewed = httpx.post(f"http://{vault.address}/oauth/token", data=form)
        assert renewed.status_code == 200, renewed.text
        assistant.kept = OAuthToken.model_validate(renewed.json())
        assert "notes/bread.md" in await assistant.search("sourdough")
        assert assistant.asked == 1
        # The old one again: all of it ends, and the person is asked anew.
        assert httpx.post(f"http://{vault.address}/oauth/token", data=form).json()["error"] == "invalid_grant"
        assistant.decision = {"existing": "renews"}
        assert "notes/bread.md" in await assistant.search("sourdough")
        assert assistant.asked == 2

    asyncio.run(work())


def test_it_is_out_when_its_page_is_deleted(vault):
    async def work():
        assistant = Assistant(vault, "Deleted")
        await assistant.search("sourdough")
        (vault.folder / "agents/deleted/agent.md").unlink()
        bearer = {"Authorization": f"Bearer {assistant.kept.access_token}"}
        assert httpx.post(f"http://{vault.address}/mcp", json={}, headers=bearer).status_code == 401
        # It asks again, and the person says no.
        assistant.decision = {"agent": None}
        with pytest.raises(BaseException) as refused:
            await assistant.search("sourdough")
        assert assistant.answer["error"] == "access_denied" and refused.value is not None

    asyncio.run(work())
