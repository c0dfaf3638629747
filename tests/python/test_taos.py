"""What taOS calls, as it calls it: its QMD client, its memory routes, and the contract of its user-memory store."""

import asyncio
import time

import httpx
import pytest

from vault import Server


class QmdClient:
    """The calls of taOS's client, which knows a base URL and nothing of tokens."""

    def __init__(self, base_url):
        self.base_url = base_url.rstrip("/")
        self.http = httpx.AsyncClient(timeout=60)

    async def get(self, address, /, **params):
        response = await self.http.get(f"{self.base_url}{address}", params=params)
        response.raise_for_status()
        return response.json()

    async def post(self, address, /, **body):
        response = await self.http.post(f"{self.base_url}{address}", json=body)
        response.raise_for_status()
        return response.json()


def with_client(vault, work):
    """Runs `work` with a client whose URL carries the token, as QMD_USER_MEMORY_URL does."""

    async def run():
        client = QmdClient(f"http://{vault.token}@{vault.address}/")
        async with client.http:
            return await work(client)

    return asyncio.run(run())


def test_search_for_items(vault):
    async def work(qmd):
        return await qmd.post("/search", query="sourdough", limit=5, collection="notes", tags=["food", "food/baking"])

    items = with_client(vault, work)["items"]
    assert [item["path"] for item in items] == ["notes/bread.md"]
    for key in ("hash", "title", "content", "snippet", "collection", "score", "tags", "metadata", "created_at"):
        assert key in items[0], key
    assert items[0]["title"] == "Bread" and "sourdough" in items[0]["content"]


def test_search_for_nothing(vault):
    async def work(qmd):
        return await qmd.post("/search", query="sourdough", limit=5, collection="notes", tags=["boat"])

    assert with_client(vault, work)["items"] == []


def test_embed(vault):
    async def work(qmd):
        return [(await qmd.post("/embed", text=text))["embedding"] for text in ("green tea", "sencha", "a tax return")]

    tea, near, far = with_client(vault, work)
    assert len(tea) == 384 and all(isinstance(number, float) for number in tea)

    def cosine(one, other):
        return sum(a * b for a, b in zip(one, other))

    assert abs(cosine(tea, tea) - 1) < 1e-3 and cosine(tea, near) > cosine(tea, far)


def test_health_needs_no_token(vault):
    answer = httpx.get(f"http://{vault.address}/health")
    assert answer.status_code == 200 and answer.json() == {"status": "ok"}


def test_the_memory_routes(vault):
    async def work(qmd):
        keyword = (await qmd.get("/search", q="varnish", limit=20))["results"]
        semantic = (await qmd.post("/vsearch", query="painting a ship", limit=20, collection="projects"))["results"]
        hybrid = (await qmd.post("/query", query="what is the boat going to cost?"))["results"]
        browsed = await qmd.get("/browse", limit=2, offset=0, collection="projects")
        return keyword, semantic, hybrid, browsed, await qmd.get("/collections")

    keyword, semantic, hybrid, browsed, collections = with_client(vault, work)
    assert keyword[0]["path"] == semantic[0]["path"] == hybrid[0]["path"] == "projects/boat.md"
    assert all(hit["collection"] == "projects" for hit in semantic)
    assert len(browsed["chunks"]) <= 2 <= browsed["total"]
    assert {"notes", "projects"} <= {collection["name"] for collection in collections}


def test_ingest_and_delete(vault):
    async def work(qmd):
        saved = await qmd.post(
            "/ingest", collection="knowledge", path="knowledge/7/chunk_0", title="Medlars", body="Medlars are eaten bletted.")
        assert saved["ok"] and saved["hash"]
        found = (await qmd.post("/search", query="bletted", limit=5))["items"]
        deleted = await qmd.post("/delete-chunk", hash=found[0]["hash"])
        return found, deleted, (await qmd.post("/search", query="bletted", limit=5))["items"]

    found, deleted, after = with_client(vault, work)
    assert found[0]["title"] == "Medlars" and deleted["ok"] and after == []


@pytest.mark.parametrize("token", ["", "wrong", "0" * 64])
def test_a_wrong_token_in_the_url_is_refused(vault, token):
    base = f"http://{token}@{vault.address}" if token else f"http://{vault.address}"
    answer = httpx.post(f"{base}/search", json={"query": "tea"})
    assert answer.status_code == 401 and "error" in answer.json()


def test_an_agent_reads_what_it_was_given_and_writes_its_own(vault):
    token = vault.agent("Librarian")

    async def work():
        qmd = QmdClient(f"http://{token}@{vault.address}")
        async with qmd.http:
            tea = (await qmd.post("/search", query="steeped", limit=5, collection="notes", tags=["food"]))["items"]
            hidden = (await qmd.post("/query", query="xylophone", limit=5))["items"]
            saved = await qmd.post("/ingest", content="Likes sencha.", title="Tea", collection="people")
            own = await qmd.post("/api/memory/search", query="sencha")
            return tea, hidden, saved, own["results"], await qmd.get("/status")

    tea, hidden, saved, own, status = asyncio.run(work())
    assert [hit["path"] for hit in tea] == ["notes/tea.md"]
    assert all("xylophone" not in hit["content"] for hit in hidden), "a private note"
    assert saved["path"] == "agents/librarian/memory/people.md" and saved["hash"] in {hit["hash"] for hit in own}
    assert "vault" not in status and status["files"] > 0
    as_agent = httpx.get(
        f"http://{vault.address}/api/user-memory/agent-search",
        params={"q": "steeped", "agent_name": "librarian", "limit": 5}, headers=vault.bearer())
    assert [hit["path"] for hit in as_agent.json()["results"]][:1] == ["notes/tea.md"]
    unknown = httpx.get(
        f"http://{vault.address}/api/user-memory/agent-search",
        params={"q": "steeped", "agent_name": "nobody"}, headers=vault.bearer())
    assert unknown.status_code == 403


class UserMemory:
    """The store that taOS keeps of its user, over HTTP."""

    def __init__(self, vault):
        self.http = httpx.Client(base_url=f"http://{vault.address}/api/user-memory", headers=vault.bearer(), timeout=60)

    def ask(self, method, path, **with_):
        response = self.http.request(method, path, **with_)
        assert response.status_code == 200, response.text
        return response.json()

    def save(self, content, **more):
        return self.ask("POST", "/save", json={"content": content, **more})

    def search(self, q, **params):
        return self.ask("GET", "/search", params={"q": q, **params})["results"]


@pytest.fixture(scope="module")
def memory(vault):
    with UserMemory(vault).http as http:
        store = UserMemory(vault)
        store.http = http
        yield store


def test_what_is_saved_is_found_at_once(memory):
    saved = memory.save("The heron fishes at dusk.", title="Heron", collection="snippets", metadata={"app": "clipboard"})
    assert saved["ok"] and saved["hash"]
    hit = memory.search("heron", mode="keyword")[0]
    assert (hit["title"], hit["collection"], hit["metadata"]["app"]) == ("Heron", "snippets", "clipboard")
    assert memory.search("heron", collection="notes", mode="keyword") == []
    again = memory.save("The heron fishes at dusk.", title="Heron", collection="snippets", metadata={"app": "clipboard"})
    assert again["hash"] == saved["hash"] and again["existing"], "the same again is the same"


def test_browsing_by_collection(memory):
    memory.save("Kingfishers dive.", title="Kingfisher", collection="birds")
    memory.save("Swifts sleep in the air.", title="Swift", collection="birds")
    page = memory.ask("GET", "/browse", params={"collection": "birds", "limit": 50})
    assert page["total"] == 2 and {chunk["collection"] for chunk in page["chunks"]} == {"birds"}
    times = [chunk["updated_at"] for chunk in page["chunks"]]
    assert times == sorted(times, reverse=True), "the newest first"


def test_stats_and_collections_count_what_there_is(memory):
    before = memory.ask("GET", "/stats")
    memory.save("Bitterns boom.", title="Bittern", collection="marsh")
    after = memory.ask("GET", "/stats")
    assert after["total"] == before["total"] + 1 and after["collections"]["marsh"] == 1
    assert sum(after["collections"].values()) == after["total"]
    assert memory.ask("GET", "/collections")["collections"] == sorted(after["collections"])


@pytest.mark.parametrize("by", ["note", "passage"])
def test_what_is_deleted_is_gone(memory, by):
    word = f"egret{by}"
    saved = memory.save(f"An {word} stands still.", title=word, collection="snippets")
    hash_ = saved["hash"] if by == "note" else memory.search(word, mode="keyword")[0]["hash"]
    assert memory.ask("DELETE", f"/chunk/{hash_}")["ok"]
    assert memory.search(word, mode="keyword") == []
    assert memory.http.delete(f"/chunk/{hash_}").status_code == 404


def test_settings_are_kept(memory, vault):
    before = memory.ask("GET", "/settings")
    for name in ("capture_conversations", "capture_files", "capture_searches", "capture_notes"):
        assert isinstance(before[name], bool), name
    changed = {"capture_searches": not before["capture_searches"]}
    assert memory.ask("PUT", "/settings", json=changed) == {**before, **changed}
    assert memory.ask("GET", "/settings") == {**before, **changed}
    assert "searches = " in (vault.folder / "memory.toml").read_text(encoding="utf-8")
    memory.ask("PUT", "/settings", json={"capture_searches": before["capture_searches"]})
    assert memory.ask("GET", "/settings") == before


def test_an_edit_in_an_editor_is_found_without_being_asked_for(memory, vault):
    vault.write("notes/owl.md", "# Owl\n\nThe owlet hisses.\n")
    deadline = time.monotonic() + 60
    while not (hits := memory.search("owlet", mode="keyword")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert hits[0]["citation"].startswith("notes/owl.md#L")


def test_each_user_has_a_vault_of_a_server():
    server = Server(["maya", "sam"])

    async def work():
        users = {}
        for name in ("maya", "sam"):
            token = server.person(name.title(), f"{name}=owner")
            users[name] = QmdClient(f"{server.address.replace('//', f'//{token}@')}/v/{name}")
            body = f"{name} likes medlars."
            saved = await users[name].post("/ingest", collection="knowledge", path="knowledge/7/chunk_0", title="Medlars", body=body)
            assert saved["ok"]
        for name, qmd in users.items():
            items = (await qmd.post("/search", query="medlars", limit=5))["items"]
            assert [name in item["content"] for item in items] == [True], "each finds what is theirs"
            await qmd.http.aclose()

    try:
        asyncio.run(work())
    finally:
        server.stop()
