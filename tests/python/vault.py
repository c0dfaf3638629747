"""A real daemon on a vault of its own."""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("VAULT_BINARY", str(ROOT / "target/debug/vault"))
# Long: a machine that is busy with other things is no failure.
PATIENCE = 120


def eventually(what, probe):
    """Waits until `probe` gives something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := probe()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


class Vault:
    """A vault made by `vault init`, and its daemon while it runs."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="vault-python-")
        self.folder = Path(self.scratch.name) / "vault"
        self.environment = dict(os.environ)
        self.environment.pop("VAULT_DIR", None)
        for variable, name in [("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")]:
            self.environment[variable] = str(Path(self.scratch.name) / name)
        # The model is unpacked once.
        self.environment["XDG_CACHE_HOME"] = str(ROOT / "target/tmp/cache")
        self.command("init", str(self.folder))
        # Tests ask more often than an agent has reason to, of machines that are busy with other things.
        config = self.folder / "memory.toml"
        config.write_text(config.read_text() + "\n[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n")

    def command(self, *args):
        """Runs a command; gives what it says."""
        ran = subprocess.run([BINARY, *args], env=self.environment, capture_output=True, text=True, check=True)
        return ran.stdout

    def write(self, path, text):
        """Writes a note, as an editor does."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def start(self, port="0"):
        """Starts the daemon; waits until all is embedded."""
        self.log = open(Path(self.scratch.name) / "log", "w+", encoding="utf-8")
        serve = [BINARY, "serve", "--vault", str(self.folder), "--port", port]
        self.daemon = subprocess.Popen(serve, env=self.environment, stdout=self.log, stderr=self.log)

        def address():
            assert self.daemon.poll() is None, f"the daemon ended: {self.said()}"
            try:
                told = json.loads((self.folder / ".vault/daemon.json").read_text())
            except (FileNotFoundError, ValueError):
                return None
            return told["address"] if told["pid"] == self.daemon.pid else None

        self.address = eventually("the daemon", address)
        self.token = (self.folder / ".vault/owner-token").read_text().strip()

        def settled():
            status = httpx.get(f"http://{self.address}/status", headers=self.bearer()).json()
            idle = status["caught_up"] and status["phase"] == "idle" and status["pending_embeddings"] == 0
            return idle and status["model"]["state"] == "ready"

        eventually("everything to be embedded", settled)

    def bearer(self):
        """The header with the owner's token."""
        return {"Authorization": f"Bearer {self.token}"}

    def agent(self, name):
        """Makes an agent that may read all that is not private; gives its token."""
        params = {"name": name, "rules": {"can_read_user_memory": True, "collections": ["*"]}}
        made = httpx.post(f"http://{self.address}/api/agents", json=params, headers=self.bearer(), timeout=60)
        assert made.status_code == 200, made.text
        return made.json()["token"]

    def said(self):
        """What the daemon has logged so far."""
        return (Path(self.scratch.name) / "log").read_text(encoding="utf-8")

    def stop(self):
        """Ends the daemon, which must be there still and must not have panicked."""
        was_there = self.daemon.poll() is None
        self.daemon.terminate()
        code = self.daemon.wait(PATIENCE)
        said = self.said()
        self.log.close()
        self.scratch.cleanup()
        assert was_there and code == 0 and "panicked" not in said, f"it ended with {code}: {said}"


class Server:
    """A server of several vaults without models, while it runs."""

    def __init__(self, names):
        self.scratch = tempfile.TemporaryDirectory(prefix="vault-python-")
        self.folder = Path(self.scratch.name)
        limits = "[agents]\nrequests_per_minute = 100000\ntimeout_ms = 60000\n"
        for name in names:
            (self.folder / name / "notes").mkdir(parents=True)
            (self.folder / name / "memory.toml").write_text(f'[embed]\nmodel = "none"\n{limits}')
            (self.folder / name / "notes/bread.md").write_text("The sourdough rests overnight in the cold.\n")
            (self.folder / name / "notes/diary.md").write_text("---\nprivate: true\n---\nSourdough is my secret.\n")
        self.log = open(self.folder / "log", "w+", encoding="utf-8")
        serve = [BINARY, "serve", "--vaults", str(self.folder), "--port", "0"]
        self.process = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.address = "http://" + self.process.stdout.readline().strip().rsplit("http://", 1)[-1]

    def command(self, *args):
        """Runs a command on the server's people; gives what it says."""
        command = [BINARY, "person", *args, "--vaults", str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def person(self, name, *gives):
        """Adds somebody with vaults, such as `family=reader`; gives a token of theirs."""
        self.command("add", name, *[part for give in gives for part in ("--give", give)])
        return self.command("token", name.lower()).strip()

    def stop(self):
        """Ends the server, which must be there still and must not have panicked."""
        was_there = self.process.poll() is None
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        said = (self.folder / "log").read_text(encoding="utf-8")
        self.log.close()
        self.scratch.cleanup()
        assert was_there and code == 0 and "panicked" not in said, f"it ended with {code}: {said}"
