"""A byte-level BPE tokenizer like GPT-2's, short: training, encoding, decoding.

The pre-tokenizer's pattern is GPT-2's with its \\p classes written for ASCII: the grammar writes only ASCII."""

import re
from collections import Counter

PRE_TOKENS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def byte_alphabet():
    """GPT-2's map from a byte to a printable character, by byte value."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet, spare = {b: chr(b) for b in printable}, 256
    for b in range(256):
        if b not in alphabet:
            alphabet[b] = chr(spare)
            spare += 1
    return [alphabet[b] for b in range(256)]


ALPHABET = byte_alphabet()
BYTE_OF = {c: b for b, c in enumerate(ALPHABET)}


def spell(text):
    return ''.join(ALPHABET[b] for b in text.encode())


def merge_pair(symbols, pair):
    merged, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i:i + 2]) == pair:
            merged.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


def train_merges(texts, count):
    """`count` merges, found greedily: the most frequent pair each time; ties by spelling."""
    frequency = Counter(word for text in texts for word in PRE_TOKENS.findall(text))
    words = [(list(spell(word)), n) for word, n in frequency.items()]
    merges = []
    while len(merges) < count:
        pairs = Counter()
        for symbols, n in words:
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += n
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        words = [(merge_pair(symbols, best) if best[0] in symbols else symbols, n) for symbols, n in words]
    return merges


class Tokenizer:
    """Ids: the special tokens first, then the 256 bytes, then one per merge."""

    def __init__(self, special, merges):
        self.special, self.merges = special, merges
        self.tokens = special + ALPHABET + [a + b for a, b in merges]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.rank = {pair: i for i, pair in enumerate(merges)}
        self.split_special = re.compile('(' + '|'.join(map(re.escape, special)) + ')')
        self.cache = {}

    def encode_word(self, word):
        if word not in self.cache:
            symbols = list(spell(word))
            while len(symbols) > 1:
                pair = min(zip(symbols, symbols[1:]), key=lambda p: self.rank.get(p, len(self.rank)))
                if pair not in self.rank:
                    break
                symbols = merge_pair(symbols, pair)
            self.cache[word] = [self.ids[s] for s in symbols]
        return self.cache[word]

    def encode(self, text):
        """Ids of a text; special tokens' markup is parsed."""
        ids = []
        for part in self.split_special.split(text):
            if part in self.special:
                ids.append(self.ids[part])
            else:
                for word in PRE_TOKENS.findall(part):
                    ids += self.encode_word(word)
        return ids

    def decode(self, ids):
        """The text of ids, without special tokens."""
        kept = ''.join(self.tokens[i] for i in ids if i >= len(self.special))
        return bytes(BYTE_OF[c] for c in kept).decode(errors='replace')
