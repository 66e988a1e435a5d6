"""Text that reads like its source and does not repeat it: a word is followed by one that follows it in the source."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# With this probability the next word is any word of the source, so that sentences are new, ...
ANYWHERE = 0.05
# ... with this one a word of the text's topic, some words in a row of the source, so that texts repeat their words, ...
TOPIC = 0.35
TOPIC_WORDS = 80
# ... with this one the word that follows in the same place, so that texts have phrases.
ONWARD = 0.35
# Stands in the source between two texts.
END = "\0"


class WordChain:
    def __init__(self, texts, separator=" "):
        """Learns from `texts`, a list, whose words stand between `separator`s."""
        self.separator = separator
        words = separator.join(f"{text}{separator}{END}" for text in texts).split(separator)
        encoded = pc.dictionary_encode(pa.array([word for word in words if word]))
        self.source = encoded.indices.to_numpy()
        self.words = encoded.dictionary
        self.end = pc.index(self.words, END).as_py()
        # The places of one word are side by side.
        self.places = np.argsort(self.source, kind="stable")
        self.counts = np.bincount(self.source)
        self.firsts = np.cumsum(self.counts) - self.counts
        self.followers = np.roll(self.source, -1)

    def topics(self, numbers):
        """A topic for each number; the same for the same number."""
        return (scrambled(numbers) % np.uint64(len(self.source) - TOPIC_WORDS)).astype(np.int64)

    def texts(self, rng, lengths, topics):
        """Texts of almost `lengths` words each; a new sentence begins where one ends."""
        # The longest first: at each step only those that are not complete yet walk on.
        order = np.argsort(-lengths)
        active = np.searchsorted(-lengths[order], -np.arange(lengths.max()))
        walked = np.full((len(lengths), lengths.max()), self.end, np.int32)
        word, place = np.full(len(lengths), self.end), np.full(len(lengths), -1)
        for step, rows in enumerate(active):
            place = self._places(rng, word[:rows], place[:rows], topics[order[:rows]])
            word = self.followers[place]
            walked[order[:rows], step] = word
        return self._joined(walked, walked != self.end)

    def lists(self, rng, rows, words_max):
        """Texts that end where one of the source ends; their words are in an order of the source."""
        walked = np.empty((rows, words_max), np.int32)
        word = np.full(rows, self.end)
        for step in range(words_max):
            word = self.followers[self._any_places(rng.random(rows), word)]
            walked[:, step] = word
        return self._joined(walked, np.cumsum(walked == self.end, axis=1) == 0)

    def _any_places(self, chance, word):
        return self.places[self.firsts[word] + (chance * self.counts[word]).astype(np.int64)]

    def _places(self, rng, word, before, topics):
        """Where in the source each text is: the next word follows there."""
        choice, chance = rng.random(len(word)), rng.random(len(word))
        place = self._any_places(chance, word)
        place = np.where(choice < TOPIC, topics + (chance * TOPIC_WORDS).astype(np.int64), place)
        onward = (choice > TOPIC) & (choice < TOPIC + ONWARD)
        place = np.where(onward, (before + 1) % len(self.source), place)
        return np.where(choice > 1 - ANYWHERE, (chance * len(self.source)).astype(np.int64), place)

    def _joined(self, walked, kept):
        ends = np.concatenate([[0], np.cumsum(np.count_nonzero(kept, axis=1))])
        words = self.words.take(pa.array(walked[kept]))
        return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), words), self.separator)


def scrambled(numbers):
    """Numbers of 64 bits that look like chance; different ones for different numbers."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return mixed * np.uint64(0xD6E8FEB86659FD93)
