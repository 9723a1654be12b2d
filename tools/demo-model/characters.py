"""Sentences that introduce people and animals. Templates use the language of template.py."""

# Character of each animal; one of these follows the introduction.
TRAITS = {
    'fox': [
        '{He} was a clever fox, [and said so often|which {he} mentioned every morning at breakfast].',
        'Like most foxes, {he} had a plan for everything, and [a second plan|a spare plan] for Tuesdays.',
    ],
    'bear': [
        '{He} was small for a bear, which is still [quite|rather] large.',
        '{He} was a gentle bear, and knocked on doors so softly that [nobody ever heard {him}|people thought it was rain].',
    ],
    'tortoise': [
        '{He} was never late, because {he} always set out the day before.',
        '{He} did everything slowly, and [most things only once|nearly everything well].',
    ],
    'hedgehog': [
        '{He} gave excellent advice and very careful hugs.',
        '{He} was a shy hedgehog, and rolled into a ball whenever [somebody praised {him}|the doorbell rang].',
    ],
    'mouse': [
        '{He} was very small and had very large plans.',
        '{He} lived in a teapot, and thought it [a little grand|far too big for one].',
    ],
    'badger': [
        '{He} was grumpy until noon and merely serious afterwards.',
        '{He} swept {his} doorstep twice a day, [in case of visitors|to discourage visitors].',
    ],
    'hare': [
        '{He} did everything quickly, and most things twice.',
        '{He} was so quick that {he} often arrived before {he} had decided to go.',
    ],
    'otter': [
        '{He} laughed easily and dried slowly.',
        '{He} had never been known to walk anywhere that {he} could slide.',
    ],
    'duck': [
        '{He} walked as if {he} were late for something, and usually {he} was.',
        '{He} was a calm duck [above the water|on the outside] and a busy one [below|on the inside].',
    ],
    'goose': [
        '{He} had opinions about everything, and was loud about most of them.',
        '{He} was afraid of nothing in the world except [butterflies|being interrupted].',
    ],
    'cat': [
        '{He} had never once been wrong, by {his} own count.',
        '{He} worked very hard between naps, and there were [many|a great many] naps.',
    ],
    'squirrel': [
        '{He} put everything in a safe place, and then forgot the place.',
        '{He} saved for winter all year round, [even in winter|and most of all in winter].',
    ],
    'mole': [
        '{He} could not see very far, so {he} thought very carefully instead.',
        '{He} wore spectacles for reading and a second pair for finding the first.',
    ],
    'frog': [
        '{He} sang every evening, and the neighbours had [stopped complaining|learned to hum along].',
        '{He} jumped at every idea, and sometimes landed on a good one.',
    ],
    'goat': [
        '{He} ate whatever was put in front of {him}, [and sometimes the plate|including the tablecloth].',
        '{He} climbed things for no reason, and called it exercise.',
    ],
    'donkey': [
        '{He} was stubborn in the morning and patient in the afternoon.',
        '{He} thought before {he} spoke, and the wait could be long.',
    ],
    'rabbit': [
        '{He} had forty-one cousins and remembered all their birthdays.',
        '{He} was brave in the daytime and [sensible|careful] after dark.',
    ],
    'owl': [
        '{He} knew a great deal, mostly at night.',
        '{He} was so wise that {he} sometimes [said nothing|kept quiet] for a whole week.',
    ],
    'crow': [
        '{He} collected shiny things and shinier stories.',
        '{He} could keep a secret for almost an hour.',
    ],
    'dragon': [
        '{He} was a small dragon with a large cough, and people [stood to one side|kept their hats on].',
        '{He} was a polite dragon, and only breathed fire when [somebody wanted toast|asked].',
    ],
}

# Sentences about a human hero.
PERSON_TRAITS = [
    '{He} was known for [kind eyes|a loud laugh|good manners] and [a terrible memory|very odd socks|a large hat].',
    '{He} hummed while {he} worked, always the same [tune|song], and never the end of it.',
    '{He} talked to {his} tools, and was sure that they listened.',
    '{He} rose early every day, and complained about it until lunch.',
    '{He} had three rules, but could only ever remember two of them.',
    '{He} was a cheerful soul, except [on Mondays|before breakfast].',
]
