"""What is asked and what is written: the same questions and the same edits for every contender."""

import random
import re

from measure import words

# What the edits say, a sentence for each round. They have nothing in common: while all were one sentence about other things, ten
# of those said before were nearer to the question than a new one that shares its passage with a page of code, and the answer,
# which has ten, did not hold it although it was there.
SAID = """The dentist moved the appointment of {} to Thursday, because her drill had broken.
Grandmother bakes the plum cake after {} with cinnamon and far too much butter.
Our ferry to the island of {} was late, as the harbour lay in thick fog.
A goat from the farm of {} has eaten the laundry of the neighbours.
Choir practice of {} begins an hour earlier in December.
The violin of {} needs four new strings and a little glue at its neck.
Whoever feeds the cat of {} finds the key below the third flower pot.
On the glacier above {} we counted nine climbers on a single rope.
For the birthday of {} we hide a bicycle behind the garage.
The wool for the blue pullover of {} is sold out until spring.
A plumber looked at the bathroom of {} and shook his head for a long time.
In the bakery of {} rye bread costs less on Monday evenings.
The tulips of {} came up three weeks before those of the park.
Uncle lost the chess game against {} by a careless move of his queen.
We painted the kitchen of {} yellow, and the ceiling by accident too.
The old tram to {} rattles so loudly that nobody can talk in it.
Kindergarten {} is collecting chestnuts and empty egg boxes.
The marathon of {} was won by a postman in borrowed shoes.
A lighthouse keeper named {} wrote poems about herring.
The bees of {} made forty jars of dark honey this summer.
At the flea market of {} somebody sold a stuffed walrus.
The doctor told {} to swim twice a week for the sake of the knee.
Rain ruined the wedding tent of {}, and everyone danced in the barn.
The passport of {} expires in June, four days before the flight to Lisbon.
The football club of {} was relegated after a penalty in the last minute.""".splitlines()


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
        assert count <= len(SAID), "a sentence that is said twice is found in the other note as well"
        sizes = sorted((file.stat().st_size, file) for file in self.files)
        short = [file for size, file in sizes if size > 500][:100]
        for file, said in zip(self.dice.sample(short, min(count, len(short))), SAID):
            word = words(self.dice.randrange(10**6))
            said = said.format(word)
            yield file.relative_to(self.folder), word, said


def write(file, said):
    """Puts a paragraph below a note's frontmatter, or on its top: QMD embeds the first 512 tokens of a chunk only."""
    text = file.read_text(errors="ignore")
    at = text.find("\n---\n", 3) + 5 if text.startswith("---\n") and "\n---\n" in text[3:] else 0
    with open(file, "w") as out:
        out.write(f"{text[:at]}\n{said}\n\n{text[at:]}")
