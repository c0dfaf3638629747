"""What every contender has in common: where it lives, how its processes are timed, how its server is asked."""

import dataclasses
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

KEYWORD, SEMANTIC, HYBRID = "keyword", "semantic", "hybrid"


@dataclasses.dataclass
class Cold:
    """A cold index: seconds until the words, and until the meanings, are all there; the most memory taken, in MB."""

    words: float
    meanings: float | None
    peak_mb: float


class Peer:
    """One program with its own copy of the corpus.

    A method that returns `None` says that the program has no such thing; its cell in the table is then a dash.
    """

    name = ""
    # Whether it finds an edit without being told.
    watches = False
    # The searches that its server and its command line know.
    served = ()
    commands = ()
    http = None

    def __init__(self, cache, work, corpus):
        self.cache = cache / type(self).__name__.lower()
        self.home = work / type(self).__name__.lower()
        self.notes = self.home / "notes"
        self.cache.mkdir(parents=True, exist_ok=True)
        shutil.copytree(corpus, self.notes)

    def install(self):
        """Installs the program below `self.cache`, unless it is there."""

    def version(self):
        raise NotImplementedError

    def settings(self):
        """What was set to other than its default, in words."""
        return ""

    def cold(self, meanings):
        """Builds the index from nothing, with the meanings or without."""

    def unchanged(self):
        """Seconds that it takes to notice that nothing has changed."""

    def note_words(self):
        """The manual step after an edit until its words are found; only of those that do not watch."""

    def note_meanings(self):
        """The manual step after that until its meaning is found."""

    def settle(self):
        """Waits until the work that an edit left is done, so that the next edit meets an idle program."""

    def index_files(self, meanings):
        """The files and folders that the index consists of."""
        return []

    def start(self):
        """Starts the server, if there is one, and waits until it answers."""

    def stop(self):
        """Stops the server, if it runs."""

    def serving_mb(self):
        """Memory of the server."""

    def command(self, mode, query):
        """The search as a command line."""

    def request(self, mode, query):
        """The search as method, target, headers and body for `self.address`."""

    def found(self, answer, path, word):
        """Whether an answer of the server has the note, as the edit with the word left it."""

    def run(self, command):
        """Runs a command to its end: seconds, and the most memory it took, in MB."""
        begun = time.perf_counter()
        process = self.spawn(command)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        return seconds, usage.ru_maxrss / 1024, process.returncode

    def spawn(self, command):
        """Starts a command, and lets it say nothing."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([str(part) for part in command], env=self.env(), **quiet)

    def must(self, command):
        """Runs a command that has to succeed."""
        seconds, peak_mb, code = self.run(command)
        if code:
            raise RuntimeError(f"{self.name}: exit code {code} of {' '.join(map(str, command))}")
        return seconds, peak_mb

    def check(self, command):
        """Runs a search, which has to print something: its queries are words that stand together in a note."""
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=self.env())
        if not done.stdout.strip():
            raise RuntimeError(f"{self.name}: {' '.join(map(str, command))} found nothing: {done.stderr[-500:]}")

    def env(self):
        """The environment of its processes: a home of its own, and no word of an automatic build."""
        return {**{key: value for key, value in os.environ.items() if key != "CI"}, "HOME": str(self.home)}

    def ask(self, mode, query):
        """Asks the server over a connection that is kept; opens another one if the server has closed it."""
        method, target, headers, body = self.request(mode, query)
        for attempt in range(2):
            try:
                if attempt or not self.http:
                    self.http = http.client.HTTPConnection(self.address, timeout=120)
                self.http.request(method, target, body, headers)
                response = self.http.getresponse()
                answer = response.read()
                break
            except (http.client.HTTPException, ConnectionError):
                if attempt:
                    raise
        if response.status != 200:
            raise RuntimeError(f"{self.name}: {response.status} for {query!r}: {answer[:200]}")
        return self.decode(answer)

    def decode(self, answer):
        """What the server said, out of the body of its answer."""
        return json.loads(answer)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def disk_bytes(paths):
    """What files and folders take on the disk."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file())


def memory_mb(pid, what="VmRSS"):
    """Memory of a process now; with `VmHWM` the most so far."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split(f"{what}:")[1].split()[0]) / 1024
