"""Schemathesis against the daemon's own description: no 500, and every answer is as described."""

import subprocess
import sys
from pathlib import Path

import pytest

from vault import Server

HERE = Path(__file__).resolve().parent


def as_described(base, token, examples, folder, phases="examples,coverage,fuzzing,stateful"):
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "--config-file", str(HERE / "schemathesis.toml"),
        "run", f"{base}/openapi.json",
        "--url", base,
        "--header", f"Authorization: Bearer {token}",
        "--max-examples", str(examples),
        "--phases", phases,
    ]
    ran = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(ran.stdout)
    assert ran.returncode == 0


@pytest.mark.parametrize("who, examples", [("owner", 15), ("agent", 5)])
def test_every_answer_is_as_the_description_says(vault, who, examples):
    token = vault.token if who == "owner" else vault.agent("Schemathesis")
    as_described(f"http://{vault.address}", token, examples, vault.scratch.name)


@pytest.fixture(scope="module")
def server():
    made = Server(["family"])
    yield made
    made.stop()


@pytest.mark.parametrize("right", ["owner", "editor", "reader"])
def test_every_answer_to_a_person_of_a_server_is_as_the_description_says(server, right):
    as_described(f"{server.address}/v/family", server.person(right.title(), f"family={right}"), 4, server.folder, "coverage")
