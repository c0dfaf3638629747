"""basic-memory: notes in SQLite's full text, a watcher, and a server for agents (MCP).

By keyword alone: its embedding models are downloaded from a hub at the first run, and it takes no file in their place.
"""

import http.client
import itertools
import json
import shutil
import subprocess
import sys
import time

from peer import KEYWORD, Cold, Peer, free_port, memory_mb

# The newest whose dependencies can all be had at the time of writing.
VERSION = "0.23.1"
PYTHON = (3, 12)


class BasicMemory(Peer):
    name = "basic-memory"
    watches = True
    served = commands = (KEYWORD,)
    server = None
    # Of two calls in a session that have the same number, one is never answered.
    numbers = itertools.count(2)

    def install(self):
        if sys.version_info < PYTHON:
            sys.exit("basic-memory needs Python 3.12: run this script with it, or leave it out (--peers)")
        self.binary = self.cache / "bin" / "basic-memory"
        if not self.binary.exists():
            subprocess.run([sys.executable, "-m", "venv", self.cache], check=True)
            subprocess.run([self.cache / "bin" / "pip", "install", "--quiet", f"basic-memory=={VERSION}"], check=True)

    def version(self):
        return f"{VERSION} on Python {sys.version.split()[0]}"

    def settings(self):
        return "by keyword alone, as it downloads its models; told to leave the notes' frontmatter as it is"

    def env(self):
        return {
            **super().env(),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
            "BASIC_MEMORY_ENSURE_FRONTMATTER_ON_SYNC": "false",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
        }

    def index(self):
        return self.must([self.binary, "reindex", "--search", "--project", "notes"])

    def cold(self, meanings):
        for folder in (".basic-memory", "basic-memory"):
            shutil.rmtree(self.home / folder, ignore_errors=True)
        self.must([self.binary, "project", "add", "notes", self.notes, "--default"])
        seconds, peak = self.index()
        return Cold(seconds, None, peak)

    def unchanged(self):
        return self.index()[0]

    def index_files(self, meanings):
        return [] if meanings else list((self.home / ".basic-memory").glob("memory.db*"))

    def start(self):
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        http = ["--transport", "streamable-http", "--host", "127.0.0.1", "--port", port]
        self.server = self.spawn([self.binary, "mcp", *http])
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        while not self.call("initialize", client):
            time.sleep(0.1)
        self.call("notifications/initialized")

    def call(self, method, params=None):
        """A message outside of the measurements; keeps the session that the server opens."""
        message = {"jsonrpc": "2.0", "method": method} | ({"id": 1, "params": params} if params else {})
        connection = http.client.HTTPConnection(self.address, timeout=120)
        try:
            connection.request("POST", "/mcp", json.dumps(message), self.headers)
            response = connection.getresponse()
            response.read()
        except ConnectionError:
            return False
        if session := response.headers.get("Mcp-Session-Id"):
            self.headers["Mcp-Session-Id"] = session
        return response.status < 300

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait(30)
            self.server = None

    def serving_mb(self):
        return memory_mb(self.server.pid)

    def command(self, mode, query):
        return [self.binary, "tool", "search-notes", query, "--page-size", "10"]

    def request(self, mode, query):
        arguments = {"query": query, "output_format": "json", "page_size": 10}
        params = {"name": "search_notes", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": next(self.numbers), "method": "tools/call", "params": params}
        return "POST", "/mcp", self.headers, json.dumps(message)

    def decode(self, answer):
        """The hits out of one event of a stream of events."""
        data = next(line for line in answer.decode().splitlines() if line.startswith("data: "))
        return json.loads(data.removeprefix("data: "))["result"]["structuredContent"]["result"]

    def found(self, answer, path, word):
        return any(hit["file_path"] == path.as_posix() for hit in answer["results"])
