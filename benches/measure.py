"""A daemon as its users see it, from the outside: the process, HTTP and files. Shared by the scripts beside it."""

import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import urllib.parse


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


NOUNS = """anchor balcony candle dentist elephant ferry glacier hammock island jacket kettle ladder mirror notary orchard
piano quarry ribbon saddle trumpet umbrella violin walrus xylophone yacht zipper almond bakery cactus dolphin engine
falcon goat harbour igloo jungle kiosk lantern meadow nettle oyster pillow quilt rabbit sailor tulip""".split()


class Daemon:
    """A running `vault serve` and one keep-alive connection to it."""

    def __init__(self, binary, vault):
        self.vault = vault
        (vault / ".vault" / "daemon.json").unlink(missing_ok=True)
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [binary, "serve", "--vault", vault, "--port", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.http = None
        while self.http is None:
            try:
                address = json.loads((vault / ".vault" / "daemon.json").read_text())["address"]
                self.http = http.client.HTTPConnection(address, timeout=60)
            except (OSError, ValueError):
                assert self.process.poll() is None, "the daemon ended"
                time.sleep(0.001)
        self.token = (vault / ".vault" / "owner-token").read_text().strip()

    def get(self, path, **params):
        url = path + ("?" + urllib.parse.urlencode(params) if params else "")
        for patient in (True, False):
            try:
                self.http.request("GET", url, headers={"Authorization": f"Bearer {self.token}"})
                response = self.http.getresponse()
                break
            except ConnectionError:  # the server hangs up on idle clients
                self.http.close()
                if not patient:
                    raise
        body = json.loads(response.read())
        if response.status == 503:
            return None
        assert response.status == 200, body
        return body

    def capture(self, events):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.http.request("POST", "/api/user-memory/events", json.dumps(events), headers)
        response = self.http.getresponse()
        body = response.read()
        assert response.status == 202, body

    def search(self, q, **params):
        return self.get("/api/user-memory/search", q=q, **params) or {"results": [], "took_ms": 0}

    def wait(self, done, pause=0.002):
        """Waits until the status is as wanted; gives the seconds since the start."""
        while True:
            status = self.get("/status")
            if status and done(status):
                return time.perf_counter() - self.started
            time.sleep(pause)

    def memory_mb(self, what="VmRSS"):
        """Memory in use now; with `VmHWM` the most so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{what}:")[1].split()[0]) / 1024

    def target(self, q, mode):
        """A search as the path and query of a request."""
        return "/api/user-memory/search?" + urllib.parse.urlencode({"q": q, "mode": mode})

    def quiet(self, seconds=1.0):
        """Waits until it has been at rest for so long: nothing is embedded, merged or built in the background."""
        while True:
            before = self.processor_seconds()
            time.sleep(seconds)
            if self.processor_seconds() - before < 0.03 * seconds:
                return

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)


def embedded(status):
    return status["caught_up"] and status["model"]["state"] == "ready" and status["pending_embeddings"] == 0


def words(number):
    """A word that no text holds, made of letters alone."""
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:06}")


def freshness(daemon, files, count, mode):
    """Seconds from the close of an edited file until its new sentence is found; in hybrid mode, with its meaning."""
    took = []
    for at in range(count):
        file = random.choice(files)
        word = words(random.randrange(10**6))
        text = file.read_text(errors="ignore")
        # Unlike the sentences of the other rounds, which are still there.
        subject = " ".join(random.sample(NOUNS, 4))
        said = f"The {subject} of {word} is what we talked about, and not much else."
        with open(file, "w") as out:
            out.write(text + f"\n\n{said}\n")
        closed = time.perf_counter()
        while True:
            found = daemon.search(word, mode=mode, limit=3)["results"]
            if any(word in hit["content"] and (mode == "keyword" or "semantic" in hit["scores"]) for hit in found):
                break
            time.sleep(0.001)
        took.append(time.perf_counter() - closed)
        # Quiet: the next edit meets an idle daemon.
        while not embedded(daemon.get("/status")):
            time.sleep(0.01)
    return took


def capture(daemon, count):
    """Seconds that a program waits for an event to be accepted, and, in turns with it, for its own write and fsync."""
    asked, synced = [], []
    with open(daemon.vault / ".vault" / "fsync-probe", "wb", buffering=0) as probe:
        for at in range(count):
            event = {"type": "message", "session": f"bench-{at % 5}", "role": "user", "text": f"Said as number {at}."}
            begun = time.perf_counter()
            daemon.capture(event)
            asked.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            probe.write(b"x" * 200)
            os.fsync(probe.fileno())
            synced.append(time.perf_counter() - begun)
    (daemon.vault / ".vault" / "fsync-probe").unlink()
    while daemon.get("/status")["capture"]["pending"]:
        time.sleep(0.01)
    return asked, synced


def python_with(requirements, *options):
    """The Python of a virtual environment in target/ that has what a file of requirements names."""
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"), requirements.parent.name + "-python")
    python = folder / "bin/python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *options, "--requirement", requirements], check=True)
        (folder / "ready").touch()
    return python


def load(daemon, targets, clients=8, seconds=5):
    """Searches over as many keep-alive connections as fast as they are answered (`cargo bench --bench load`)."""
    command = ["cargo", "bench", "--locked", "--quiet", "--bench", "load", "--", daemon.http.host + f":{daemon.http.port}"]
    command += ["--clients", str(clients), "--seconds", str(seconds), "--header", f"Authorization: Bearer {daemon.token}"]
    said = subprocess.run(command, check=True, input="\n".join(targets), text=True, stdout=subprocess.PIPE).stdout
    return json.loads(said)
