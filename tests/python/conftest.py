"""What the tests share: a daemon on a small vault."""

import pytest

from vault import Vault

NOTES = {
    "notes/bread.md": "---\ntags: [food, food/baking]\n---\n# Bread\n\nThe sourdough rests overnight in the cold.\n",
    "notes/tea.md": "---\ntags: [food]\n---\n# Tea\n\nGreen tea is steeped at 80 degrees for two minutes.\n",
    "projects/boat.md": "# The boat\n\n- [ ] Sand the hull #boat\n- [ ] Two coats of varnish\n\n## Costs\n\n| what | euros |\n|---|---|\n| varnish | 80 |\n",
    "conversations/monday.md": "# Monday\n\nWe agreed to launch the boat in May, see [[boat]].\n",
    "notes/diary.md": "---\nprivate: true\n---\n# Diary\n\nNobody else reads of the xylophone.\n",
}


@pytest.fixture(scope="module")
def vault():
    made = Vault()
    for path, text in NOTES.items():
        made.write(path, text)
    made.start()
    yield made
    made.stop()
