"""Writes the stories. `Story` picks a tale, with its people, place and cause; `Story.text()` tells it in words that
differ from one telling to the next. Everything follows from one
random generator, so a seed gives the same text for ever.

    python3 grammar.py [count] [seed]      prints stories to read
"""

import random
import sys

from cast import HELPERS, HEROES
from characters import PERSON_TRAITS, TRAITS
from plots import PLOTS
from template import count_shapes, expand, with_article

PRONOUNS = {
    'f': {'he': 'she', 'him': 'her', 'his': 'her', 'himself': 'herself'},
    'm': {'he': 'he', 'him': 'him', 'his': 'his', 'himself': 'himself'},
}

ANIMAL_OPENINGS = [
    'Once upon a time, in the [quiet |windy |little |sleepy |merry |]village of {village}, [there lived|lived] {a_kind} [named|called] {name}, who [was|worked as] {a_trade}.',
    'Once upon a time there was {a_kind} [named|called] {name}, and {he} was the [best |only |]{trade} [of|in] {village}.',
    'Once upon a time {a_kind} [named|called] {name} lived in {village} and [worked there|earned a living] as {a_trade}.',
    'Once upon a time, when [clocks were slow|the hills were young|soup was free|the moon was nearer|hats were taller], there lived in {village} {a_kind} [named|called] {name}, who was {a_trade}.',
    'In the [quiet |windy |little |sleepy |merry |]village of {village} there lived {a_trade}, and {he} was {a_kind}. {His} name was {name}.',
    'In the [quiet |windy |little |sleepy |merry |]village of {village}, the {trade} was {a_kind} [named|called] {name}.',
    'In the village of {village}, where [nothing much happens|it always smells of bread|the roads are round|even the rain is polite|the hens are in charge], {a_kind} [named|called] {name} was the {trade}.',
    'There was once {a_kind} [named|called] {name}, who [worked|was known] as {a_trade} in {village}.',
    'There was once {a_trade} in {village} who was {a_kind}, and whose name was {name}.',
    'Long ago, in [the village of |]{village}, {a_kind} [named|called] {name} was the [best|only|finest] {trade} [for miles around|in the valley].',
    'Everybody in {village} knew {name} the {trade}, who [happened to be|was] {a_kind}.',
    'On the edge of {village} stood a [small|crooked|yellow|very thin] house, and in it lived {name}, {a_kind} and {a_trade}.',
    'Not [very |]far from here, in a village called {village}, {a_kind} [named|called] {name} worked as {a_trade}.',
]

PERSON_OPENINGS = [
    'Once upon a time, in the [quiet |windy |little |sleepy |merry |]village of {village}, [there lived|lived] [a young|an old|a cheerful|a busy|a very tall|a rather round] {trade} [named|called] {name}.',
    'Once upon a time there was [a young|an old|a cheerful|a busy|a very tall|a rather round] {trade} [named|called] {name}, who lived in {village}.',
    'Once upon a time, when [clocks were slow|the hills were young|soup was free|the moon was nearer|hats were taller], there lived in {village} [a young|an old|a busy|a rather round] {trade} [named|called] {name}.',
    'In the [quiet |windy |little |sleepy |merry |]village of {village} there lived {a_trade} [whose name was|by the name of] {name}.',
    'In the [quiet |windy |little |sleepy |merry |]village of {village}, the {trade} was called {name}.',
    'In the village of {village}, where [nothing much happens|it always smells of bread|the roads are round|even the rain is polite|the hens are in charge], there lived {a_trade} [named|called] {name}.',
    'There was once {a_trade} [named|called] {name}, who lived in {village}.',
    'Long ago, {a_trade} [named|called] {name} lived in {village}, [between the hill and the river|behind the church|next to the pump|above the cheese shop|under the old oak].',
    'Everybody in {village} knew {name} the {trade}.',
    'On the edge of {village} stood a [small|crooked|yellow|very thin] house, and in it lived {a_trade} [named|called] {name}.',
    'Not [very |]far from here, in a village called {village}, there lived {a_trade} [named|called] {name}.',
]

KEEPSAKES = [
    'In {his} [pocket|bag] {he} [always|often] carried {an_object}, though {he} could not have said why.',
    '{He} never [went anywhere|left the house] without {an_object}, and people [smiled|wondered|talked] about it.',
    '{His} [grandmother|grandfather|aunt] had left {him} {an_object}, and had said that it would come in useful [one day|some day].',
    'On {his} [shelf|window sill] {he} kept {an_object}, [of no use to anybody so far|although nobody knew what for].',
    '{He} had [once |]been given {an_object} for {his} birthday, and was still waiting for a reason to use it.',
    'The only prize that {he} had ever won was {an_object}, and {he} was [very|rather|quietly] proud of it.',
    '{He} owned little, but {he} did own {an_object}, [a present from an aunt|bought at the fair|won in a bet with a goose].',
]

ARRIVALS = [
    '[Just then|A little later|That afternoon] {a_hkind} [named|called] {h} came [by|along|up the path|around the corner].',
    '[Before long|After a while|Soon] {a_hkind} [named|called] {h} [knocked at the door|looked in|stopped to watch|came to see what the noise was].',
    '[At that moment|Just then] there was a knock at the door, and there stood {a_hkind} [named|called] {h}.',
    'Now it so happened that {a_hkind} [named|called] {h} was [passing through {village}|visiting an uncle in {village}] that day.',
    'Nobody knew what to do, until {a_hkind} [named|called] {h} [came in|sat down beside {name}|arrived on a small bicycle].',
    'Then somebody [laughed|coughed], but not unkindly. It was {h}, {a_hkind} [from the next village|on a walking holiday].',
]

OFFERS = [
    '"You look [sad|tired|cross|puzzled|hungry]," said {h}. "I will [help you|have a look] for {a_pay}." "Done," said {name}.',
    '"I could help," said the {hkind}, "but I think better [after|with] {a_pay}." {name} [promised|agreed|nodded].',
    '"What is the matter?" asked {h}, and {name} told {hhim} everything. "Well," said {h}, "for {a_pay} I will [have a look|see what I can do]."',
    '"Can you help me?" asked {name}. "Perhaps," said the {hkind}. "Is there {a_pay} in it?" There was.',
    '"Oh dear," said {h}. "Oh dear," said {name}. "I charge {a_pay}," said {h}, and they shook hands.',
    '"I see that you have [a problem|some trouble]," said the {hkind}. "I know [all|something] about problems. My price is {a_pay}."',
]

REMINDERS = [
    'Then {name} remembered {the_object}.',
    '"What [have you got|do you have] in the house?" asked {h}. "Only {the_object}," said {name}. "That will do[ nicely|]," said {h}.',
    '{name} thought [hard|for a moment], and then {he} [smiled|laughed|jumped up]. At last there was a use for {the_object}!',
    '"If only we had the right thing for it," said {h}, and [at once |]{name} thought of {the_object}.',
]

REWARDS = [
    '{h} was given {the_pay}, as promised, and [stayed until dark|came back the next day for more|fell asleep by the fire].',
    '{name} brought out {the_pay}, and the two of them shared, [half and half|fairly, more or less|under the stars].',
    '{h} had earned {the_pay}, and said that it was the [easiest|nicest|best paid] work of the [week|year].',
    'As for {h}, {hhe} went home with {the_pay} and a new friend.',
    'And {name} did not forget {the_pay}, which {h} enjoyed [very much|to the last bit|with closed eyes].',
]

CLOSINGS = ['', '', '', '[And that is the whole story.|And that was that.|The end.]']

TALES = [{'trade': trade, 'cause': cause, 'name': name, 'gender': gender, 'kind': kind, 'village': village, 'helper': helper}
         for trade, heroes in HEROES.items()
         for cause, (name, gender, kind, village, helper) in zip(PLOTS[trade]['causes'], heroes)]


class Story:
    """One telling of a tale: whichever the generator picks, or one that has what is `wanted` of it."""

    def __init__(self, rng, wanted=None):
        self.rng = rng
        fitting = [t for t in TALES if all(t[key] == value for key, value in (wanted or {}).items())]
        self.tale = rng.choice(fitting)
        self.plot, self.cause, self.kind = PLOTS[self.tale['trade']], self.tale['cause'], self.tale['kind']
        self.values = self.pick_values()

    def pick_values(self):
        tale = self.tale
        h, helper_gender, a_pay, the_pay = HELPERS[tale['helper']]
        an_object, the_object = self.cause['object']
        values = {
            'name': tale['name'], 'trade': tale['trade'], 'a_trade': with_article(tale['trade']), **PRONOUNS[tale['gender']],
            'h': h, 'hkind': tale['helper'], 'a_hkind': with_article(tale['helper']),
            **{'h' + key: word for key, word in PRONOUNS[helper_gender].items()},
            'village': tale['village'], 'an_object': an_object, 'the_object': the_object, 'a_pay': a_pay, 'the_pay': the_pay,
        }
        if self.kind:
            values |= {'kind': self.kind, 'a_kind': with_article(self.kind)}
        return values

    def say(self, templates, chance=1.0):
        """One sentence or two from a list of templates; nothing, sometimes, if `chance` is below one."""
        if self.rng.random() >= chance:
            return ''
        text = expand(self.rng.choice(templates), self.values, self.rng)
        return text[:1].upper() + text[1:]

    def text(self):
        plot, cause = self.plot, self.cause
        paragraphs = [
            [self.say(ANIMAL_OPENINGS if self.kind else PERSON_OPENINGS),
             self.say(TRAITS[self.kind] if self.kind else PERSON_TRAITS, 0.75),
             self.say(plot['setup'], 0.75), self.say(KEEPSAKES)],
            [self.say(plot['wish']), self.say(cause['clue']), self.say(plot['problem']), self.say(plot['tries'], 0.75)],
            [self.say(ARRIVALS), self.say(OFFERS), self.say(cause['reveal'])],
            [self.say(REMINDERS, 0.6), self.say(cause['fix']), self.say(cause['after'])],
            [self.say(REWARDS), self.say(cause['moral']), self.say(CLOSINGS)],
        ]
        return '\n\n'.join(' '.join(filter(None, sentences)) for sentences in paragraphs)


def all_templates():
    generic = [ANIMAL_OPENINGS, PERSON_OPENINGS, KEEPSAKES, ARRIVALS, OFFERS, REMINDERS, REWARDS, PERSON_TRAITS,
               *TRAITS.values()]
    for plot in PLOTS.values():
        generic += [plot['setup'], plot['wish'], plot['problem'], plot['tries']]
        for cause in plot['causes']:
            generic += [cause[part] for part in ('clue', 'reveal', 'fix', 'after', 'moral')]
    return [template for group in generic for template in group]


if __name__ == '__main__':
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(seed)
    print(f'{len(all_templates())} templates, {sum(map(count_shapes, all_templates()))} shapes\n')
    for _ in range(count):
        print(Story(rng).text(), end='\n\n----\n\n')
