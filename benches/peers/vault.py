"""This program: the daemon that watches, and the command that asks it."""

import shutil
import subprocess
import urllib.parse

from measure import Daemon, embedded
from peer import HYBRID, KEYWORD, SEMANTIC, Cold, Peer


class Vault(Peer):
    name = "vault"
    watches = True
    served = commands = (KEYWORD, SEMANTIC, HYBRID)

    def __init__(self, cache, work, corpus, binary):
        super().__init__(cache, work, corpus)
        self.binary = binary
        self.daemon = None
        subprocess.run([binary, "init", "--adopt", self.notes], check=True, stdout=subprocess.DEVNULL, env=self.env())

    def version(self):
        return subprocess.run([self.binary, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]

    def cold(self, meanings):
        shutil.rmtree(self.notes / ".vault" / "index", ignore_errors=True)
        daemon = Daemon(self.binary, self.notes)
        words = daemon.wait(lambda status: status["caught_up"])
        seconds = daemon.wait(embedded, 0.05) if meanings else None
        peak = daemon.memory_mb("VmHWM")
        daemon.stop()
        return Cold(words, seconds, peak)

    def unchanged(self):
        daemon = Daemon(self.binary, self.notes)
        seconds = daemon.wait(lambda status: status["caught_up"])
        daemon.wait(embedded)
        daemon.stop()
        return seconds

    def index_files(self, meanings):
        if not meanings:
            # The daemon embeds as soon as it can: a second index, with no model, says what the words alone take.
            plain = self.home / "keyword-only"
            shutil.copytree(self.notes, plain, ignore=shutil.ignore_patterns(".vault"))
            config = plain / "memory.toml"
            config.write_text(config.read_text().replace('model = "bundled"', 'model = "none"'))
            daemon = Daemon(self.binary, plain)
            daemon.wait(lambda status: status["caught_up"])
            daemon.stop()
            return [plain / ".vault" / "index"]
        return [self.notes / ".vault" / "index"]

    def start(self):
        self.daemon = Daemon(self.binary, self.notes)
        self.daemon.wait(embedded)
        self.address = f"{self.daemon.http.host}:{self.daemon.http.port}"

    def stop(self):
        if self.daemon:
            self.daemon.stop()
            self.daemon = None

    def serving_mb(self):
        return self.daemon.memory_mb()

    def settle(self):
        # The daemon hangs up on a connection that has been idle for long; another one is opened by itself.
        self.daemon.http.close()
        self.daemon.wait(embedded)

    def command(self, mode, query):
        return [self.binary, "search", "--vault", self.notes, "--mode", mode, "--limit", "10", "--json", "--", query]

    def request(self, mode, query):
        target = "/api/user-memory/search?" + urllib.parse.urlencode({"q": query, "mode": mode, "limit": 10})
        return "GET", target, {"Authorization": f"Bearer {self.daemon.token}"}, None

    def found(self, answer, path, word):
        return any(word in hit["content"] for hit in answer["results"])
