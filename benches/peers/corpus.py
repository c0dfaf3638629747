"""What is asked and what is written: the same questions and the same edits for every contender."""

import random
import re

from measure import NOUNS, words


class Corpus:
    """The notes below a folder, and a source of questions about them that never repeats one."""

    def __init__(self, folder):
        self.folder = folder
        self.files = sorted(folder.rglob("*.md"))
        self.bytes = sum(file.stat().st_size for file in self.files)
        self.dice = random.Random(1)
        texts = (file.read_text(errors="ignore") for file in self.dice.sample(self.files, min(len(self.files), 500)))
        paragraphs = (re.findall(r"\b[a-z]{4,12}\b", part) for text in texts for part in text.split("\n\n"))
        self.paragraphs = [sorted(set(found)) for found in paragraphs if len(set(found)) >= 12]
        self.asked = set()

    def queries(self, count, length=3):
        """Queries of words that one paragraph has, in letters alone: what every contender's syntax takes for words."""
        fresh = []
        while len(fresh) < count:
            query = " ".join(self.dice.sample(self.dice.choice(self.paragraphs), length))
            if query not in self.asked:
                self.asked.add(query)
                fresh.append(query)
        return fresh

    def edits(self, count):
        """Short notes, each with a word that no text has and a sentence that says something new.

        Short, so that QMD has a single chunk to embed, and the sentence counts for something in it.
        """
        sizes = sorted((file.stat().st_size, file) for file in self.files)
        short = [file for size, file in sizes if size > 500][:100]
        for file in self.dice.sample(short, min(count, len(short))):
            word, subject = words(self.dice.randrange(10**6)), " ".join(self.dice.sample(NOUNS, 4))
            said = f"The {subject} of {word} is what we talked about, and not much else."
            yield file.relative_to(self.folder), word, said


def write(file, said):
    """Puts a paragraph below a note's frontmatter, or on its top: QMD embeds the first 512 tokens of a chunk only."""
    text = file.read_text(errors="ignore")
    at = text.find("\n---\n", 3) + 5 if text.startswith("---\n") and "\n---\n" in text[3:] else 0
    with open(file, "w") as out:
        out.write(f"{text[:at]}\n{said}\n\n{text[at:]}")
