"""Schemathesis against the daemon's own description: no 500, and every answer is as described."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("who, examples", [("owner", 15), ("agent", 5)])
def test_every_answer_is_as_the_description_says(vault, who, examples):
    token = vault.token if who == "owner" else vault.agent("Schemathesis")
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "--config-file", str(HERE / "schemathesis.toml"),
        "run", f"http://{vault.address}/openapi.json",
        "--header", f"Authorization: Bearer {token}",
        "--max-examples", str(examples),
    ]
    ran = subprocess.run(command, cwd=vault.scratch.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(ran.stdout)
    assert ran.returncode == 0
