"""A small template language: `[a|b|c]` picks an alternative (nesting allowed); `{key}` is replaced; `{Key}` is replaced and
capitalised."""

import re

INNERMOST_CHOICE = re.compile(r'\[([^\[\]]*)\]')
COUNT = re.compile('\x00(\\d+)\x00')
SLOT = re.compile(r'\{(\w+)\}')


def choose(template, rng):
    """Resolves all choices, innermost first."""
    while match := INNERMOST_CHOICE.search(template):
        branch = rng.choice(match.group(1).split('|'))
        template = template[:match.start()] + branch + template[match.end():]
    return template


def fill(template, values):
    def lookup(match):
        key = match.group(1)
        if key in values:
            return values[key]
        word = values[key[0].lower() + key[1:]]
        return word[0].upper() + word[1:]
    return SLOT.sub(lookup, template)


def expand(template, values, rng):
    return fill(choose(template, rng), values)


def count_shapes(template):
    """Number of different sentences of a template's choices, without slots."""
    def product(text):
        total = 1
        for n in COUNT.findall(text):
            total *= int(n)
        return total
    while match := INNERMOST_CHOICE.search(template):
        total = sum(product(branch) for branch in match.group(1).split('|'))
        template = f'{template[:match.start()]}\x00{total}\x00{template[match.end():]}'
    return product(template)


def with_article(noun):
    return ('an ' if noun[0] in 'aeiou' else 'a ') + noun
