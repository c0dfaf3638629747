"""QMD: a command line and a server for agents on node, with SQLite's full text and vectors, and llama.cpp."""

import json
import os
import pathlib
import platform
import subprocess
import time
import urllib.parse
import urllib.request

from peer import HYBRID, KEYWORD, SEMANTIC, Cold, Peer, free_port, memory_mb

PACKAGE, VERSION, NODE = "@tobilu/qmd", "2.8.3", "22"
MODEL = pathlib.Path(__file__).parents[2] / "models" / "all-minilm-l6-v2.q8_0.gguf"


class Qmd(Peer):
    name = "QMD"
    served = commands = (KEYWORD, SEMANTIC, HYBRID)
    server = None

    def install(self):
        arch = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
        # node comes from the registry too. No install scripts: what they would build or fetch is in the packages.
        node = f"node-{platform.system().lower()}-{arch}"
        modules = self.cache / "node_modules"
        self.node = modules / node / "bin" / "node"
        # The file that bin/qmd starts in a second process; without the first one it is twice as fast.
        self.script = modules / PACKAGE / "dist" / "cli" / "qmd.js"
        if not (self.node.exists() and self.script.exists()):
            (self.cache / "package.json").write_text("{}")
            packages = [f"{PACKAGE}@{VERSION}", f"{node}@{NODE}"]
            subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", *packages], cwd=self.cache, check=True)
        self.database = self.home / "index" / "index.sqlite"
        self.database.parent.mkdir()
        notes = {"path": str(self.notes), "pattern": "**/*.md"}
        config = {"models": {"embed": str(MODEL)}, "collections": {"notes": notes}}
        (self.home / "index.yml").write_text(json.dumps(config))  # JSON is YAML

    def version(self):
        node = subprocess.run([self.node, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        return f"{json.loads((self.script.parents[2] / 'package.json').read_text())['version']} on node {node}"

    def settings(self):
        return (
            f"QMD_EMBED_PARALLELISM={os.cpu_count()}, QMD_FORCE_CPU=1 (no search for a graphics card), the same model,"
            " called without its launcher; queries are `lex:` and `vec:`, with no expansion and no reranking"
        )

    def env(self):
        return {
            **super().env(),
            "QMD_CONFIG_DIR": str(self.home),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "INDEX_PATH": str(self.database),
            "QMD_EMBED_PARALLELISM": str(os.cpu_count()),
            "QMD_FORCE_CPU": "1",
            # At 512, which the model has positions for, it leaves no room for the special tokens, and aborts.
            "QMD_EMBED_CONTEXT_SIZE": "508",
        }

    def qmd(self, *arguments):
        return [self.node, self.script, *arguments]

    def cold(self, meanings):
        for file in self.database.parent.iterdir():
            file.unlink()
        words, peak = self.must(self.qmd("update"))
        if not meanings:
            return Cold(words, None, peak)
        seconds, embed_peak = self.must(self.qmd("embed"))
        return Cold(words, words + seconds, max(peak, embed_peak))

    def unchanged(self):
        return self.must(self.qmd("update"))[0]

    def note_words(self):
        self.must(self.qmd("update"))

    def note_meanings(self):
        self.must(self.qmd("embed"))

    def index_files(self, meanings):
        return [self.database.parent]

    def start(self):
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self.server = self.spawn(self.qmd("mcp", "--http", "--host", "127.0.0.1", "--port", port))
        while True:
            try:
                urllib.request.urlopen(f"http://{self.address}/health").close()
                return
            except OSError:
                time.sleep(0.02)

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait(20)
            self.server = None

    def serving_mb(self):
        return memory_mb(self.server.pid)

    def command(self, mode, query):
        if mode == KEYWORD:
            return self.qmd("search", query, "-n", "10", "--json")
        typed = "\n".join(f"{search['type']}: {search['query']}" for search in self.searches(mode, query))
        return self.qmd("query", typed, "--no-rerank", "-n", "10", "--json")

    @staticmethod
    def searches(mode, query):
        kinds = {KEYWORD: ["lex"], SEMANTIC: ["vec"], HYBRID: ["lex", "vec"]}[mode]
        return [{"type": kind, "query": query} for kind in kinds]

    def request(self, mode, query):
        body = json.dumps({"searches": self.searches(mode, query), "rerank": False, "limit": 10})
        return "POST", "/query", {"Content-Type": "application/json"}, body

    def found(self, answer, path, word):
        return any(urllib.parse.unquote(hit["file"]).endswith(path.as_posix()) for hit in answer["results"])
