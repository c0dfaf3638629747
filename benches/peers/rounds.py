"""The measurements. Contenders take turns within each of them, so that a slow moment of the machine falls on all."""

import collections
import sys
import time

from corpus import write
from load import searches_a_second
from peer import HYBRID, KEYWORD, SEMANTIC, disk_bytes

WARM_UP = 5


class Rounds:
    """All measurements over some contenders. `times[row][peer]` are the raw numbers, in the table's units."""

    def __init__(self, peers, corpus, quick):
        self.peers, self.corpus, self.quick = peers, corpus, quick
        self.times = collections.defaultdict(lambda: collections.defaultdict(list))

    def note(self, row, peer, value):
        self.times[row][peer.name].append(value)

    def turns(self, quick, full, able=lambda peer: True):
        """The order of the contenders in each of some rounds; each begins with another one."""
        peers = [peer for peer in self.peers if able(peer)]
        for at in range(quick if self.quick else full):
            first = at % max(len(peers), 1)
            yield peers[first:] + peers[:first]

    def all(self):
        for part in (self.cold, self.unchanged, self.alone, self.served, self.load, self.edits):
            print(f"{part.__name__}: {part.__doc__}", file=sys.stderr, flush=True)
            part()

    def stop(self):
        for peer in self.peers:
            peer.stop()

    def cold(self):
        """the index from nothing, and what it takes on the disk"""
        for peers in self.turns(1, 3):
            for peer in peers:
                if result := peer.cold(meanings=False):
                    self.note("cold words", peer, result.words)
        for peer in self.peers:
            self.size("disk words", peer, meanings=False)
            if result := peer.cold(meanings=True):
                self.note("cold words", peer, result.words)
                self.note("indexing memory", peer, result.peak_mb)
                if result.meanings:
                    self.note("cold meanings", peer, result.meanings)
                    self.size("disk meanings", peer, meanings=True)

    def size(self, row, peer, meanings):
        if files := peer.index_files(meanings):
            self.note(row, peer, disk_bytes(files) / self.corpus.bytes)

    def unchanged(self):
        """a start, or a run, that finds nothing to do"""
        for peers in self.turns(2, 7):
            for peer in peers:
                if (seconds := peer.unchanged()) is not None:
                    self.note("unchanged", peer, seconds * 1000)

    def alone(self):
        """searches by the command line, with no server running"""
        self.commands("alone")

    def served(self):
        """searches over HTTP and by the command line, with the servers running"""
        for peer in self.peers:
            peer.start()
        for mode in (KEYWORD, SEMANTIC, HYBRID):
            queries = iter(self.corpus.queries(WARM_UP + (20 if self.quick else 200)))
            for at, (peers, query) in enumerate(zip(self.turns(25, 205, lambda peer: mode in peer.served), queries)):
                for peer in peers:
                    begun = time.perf_counter()
                    answer = peer.ask(mode, query)
                    if at >= WARM_UP:
                        self.note(f"http {mode}", peer, (time.perf_counter() - begun) * 1000)
                        self.note(f"http {mode} hits", peer, len(answer["results"]))
        self.commands("process")

    def commands(self, row):
        for mode in (KEYWORD, SEMANTIC):
            queries = iter(self.corpus.queries(31))
            for at, (peers, query) in enumerate(zip(self.turns(6, 31, lambda peer: mode in peer.commands), queries)):
                for peer in peers:
                    if not at:
                        # Brings the program into memory, and shows that it does find something.
                        peer.check(peer.command(mode, query))
                        continue
                    self.note(f"{row} {mode}", peer, peer.run(peer.command(mode, query))[0] * 1000)

    def load(self):
        """eight clients at once"""
        seconds = 1 if self.quick else 4
        for mode in (KEYWORD, SEMANTIC, HYBRID):
            for peers in self.turns(1, 3, lambda peer: mode in peer.served):
                # As many as the fastest may need: an embedding that is remembered from a query before says nothing.
                queries = self.corpus.queries(8_000 * seconds, length=5)
                for peer in peers:
                    self.note(f"load {mode}", peer, searches_a_second(peer, mode, queries, seconds))
        for peer in self.peers:
            if peer.served:
                self.note("serving memory", peer, peer.serving_mb())

    def edits(self):
        """from the close of an edited note until it is found"""
        edits = self.corpus.edits(3 if self.quick else 25)
        for first, (peers, edit) in enumerate(zip(self.turns(3, 25, lambda peer: peer.served), edits)):
            for peer in peers:
                self.edit(peer, *edit, unaided=not (peer.watches or first))

    def edit(self, peer, path, word, said, unaided):
        """Edits a note; of one that does not watch it first waits, if `unaided`, whether it is found all the same."""
        write(peer.notes / path, said)
        saved = time.perf_counter()

        def found(row, mode, query, patience):
            """Notes the milliseconds since the note was saved, or that it was not found."""
            while not peer.found(peer.ask(mode, query), path, word):
                if time.perf_counter() > saved + patience:
                    return self.note(row, peer, None)
                time.sleep(0.001)
            self.note(row, peer, (time.perf_counter() - saved) * 1000)

        if unaided:
            found("fresh", KEYWORD, word, 5 if self.quick else 30)
            saved = time.perf_counter()
        peer.note_words()
        found("edit words", KEYWORD, word, 30)
        if peer.watches:
            self.note("fresh", peer, self.times["edit words"][peer.name][-1])
        if SEMANTIC in peer.served:
            peer.note_meanings()
            found("edit meanings", SEMANTIC, said, 30)
        peer.settle()
