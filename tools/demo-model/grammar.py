"""Writes the stories. `Story` picks a tale with its people, place and cause; `Story.text()` tells it, in words that differ
from one telling to the next. Equal seeds give equal texts.

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
    'Once upon a time, [before there were umbrellas|before Mondays were invented|in a year with two springs], [there was|there lived] in {village} {a_kind} [named|called] {name}, [and {name} was {a_trade}|who earned {his} bread as {a_trade}|{a_trade} by trade].',
    'Once upon a time, [between two hills|beside a slow river|at the end of a long road], there [was|lay] a village called {village}, [and its {trade} was|where the {trade} was] {a_kind} [named|called] {name}.',
    '[If|Should] you ever [come to|pass through] {village}, [ask for|look for] {name} the {trade}, who [is|happens to be] {a_kind}. This is a story about {him}.',
    '{A_kind} [named|called] {name} [once lived|lived, a long time ago,|lived, not so long ago,] in {village}, and [was known there as|worked there as|was never anything but] {a_trade}.',
    '{Name}, {a_kind} [with a warm heart|with a good memory|of few words|of many words], was the {trade} of {village}, [and liked it|and would not have been anything else|which suited everybody].',
    '[They still tell|Old people tell|I was told] in {village} of {name}, {a_kind} who [was|worked as] {a_trade}, [and of what happened one year|and this is how it goes|and I believe every word].',
    '[In those days|At that time|For many years], {village} had [only one|no more than one|just the one] {trade}, and {he} was {a_kind} [named|called] {name}.',
    '[Where the road ends|Where the river bends|Where the woods begin], in {village}, lived {a_kind} [named|called] {name}, who [was|had always been] {a_trade} and [meant to stay one|was proud of it|said so often].',
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
    'Once upon a time, [before there were umbrellas|before Mondays were invented|in a year with two springs], [there was|there lived] in {village} {a_trade} [named|called] {name}, [who was never late|who was seldom early|who was liked by everybody].',
    'Once upon a time, [between two hills|beside a slow river|at the end of a long road], there [was|lay] a village called {village}, [and its {trade} was [named|called] {name}|where {name} was the {trade}].',
    '[If|Should] you ever [come to|pass through] {village}, [ask for|look for] {name} the {trade}. This is a story about {him}.',
    '{A_trade} [named|called] {name} [once lived|lived, a long time ago,|lived, not so long ago,] in {village}, and [was liked there|was never in a hurry|was seldom without a smile].',
    '[They still tell|Old people tell|I was told] in {village} of {a_trade} [named|called] {name}, [and of what happened one year|and this is how it goes|and I believe every word].',
    '[In those days|At that time|For many years], {village} had [only one|no more than one|just the one] {trade}, and {his} name was {name}.',
    '[Where the road ends|Where the river bends|Where the woods begin], in {village}, lived {a_trade} [named|called] {name}, who [was proud of {his} work|had many friends|sang at breakfast].',
]

KEEPSAKES = [
    'In {his} [pocket|bag] {he} [always|often] carried {an_object}, though {he} could not have said why.',
    '{He} never [went anywhere|left the house] without {an_object}, and people [smiled|wondered|talked] about it.',
    '{His} [grandmother|grandfather|aunt] had left {him} {an_object}, and had said that it would come in useful [one day|some day].',
    'On {his} [shelf|window sill] {he} kept {an_object}, [of no use to anybody so far|although nobody knew what for].',
    '{He} had [once |]been given {an_object} for {his} birthday, and was still waiting for a reason to use it.',
    'The only prize that {he} had ever won was {an_object}, and {he} was [very|rather|quietly] proud of it.',
    '{He} owned little, but {he} did own {an_object}, [a present from an aunt|bought at the fair|won in a bet with a goose].',
    '[For years|For as long as anybody knew|Since {he} was small], {he} had [kept|carried about|looked after] {an_object}, [just in case|for luck|and nobody asked why].',
    'There was {an_object} [in {his} cupboard|on the nail by {his} door|at the bottom of {his} bag], and [there it stayed|there it waited|nobody had ever found a use for it].',
    'A [passing sailor|tired pedlar|distant cousin] had once [given|sold] {him} {an_object}, and {he} had [kept|treasured] it [ever since|all the same].',
    '[Some people|Other people] collect stamps. {He} had {an_object}, and [that was enough|was content with it|took good care of it].',
    '[When|Whenever] {he} [could not sleep|had nothing to do|was worried], {he} [polished|looked at|took out] {an_object}, [and felt better|which was no help, but a comfort].',
    '{He} [could not pass|had once passed] a market stall without buying something, and [so {he} owned|that is how {he} came to own|what {he} had bought was] {an_object}.',
    '[Beside {his} bed|Over {his} door|Behind {his} clock] there was {an_object}, [left by nobody knew whom|older than the house|and {he} greeted it every morning].',
    '[Everyone|Everybody] has one thing [that is no use at all|to be proud of|with no name and no place]. {name} had {an_object}.',
]

ARRIVALS = [
    '[Just then|A little later|That afternoon] {a_hkind} [named|called] {h} came [by|along|up the path|around the corner].',
    '[Before long|After a while|Soon] {a_hkind} [named|called] {h} [knocked at the door|looked in|stopped to watch|came to see what the noise was].',
    '[At that moment|Just then] there was a knock at the door, and there stood {a_hkind} [named|called] {h}.',
    'Now it so happened that {a_hkind} [named|called] {h} was [passing through {village}|visiting an uncle in {village}] that day.',
    'Nobody knew what to do, until {a_hkind} [named|called] {h} [came in|sat down beside {name}|arrived on a small bicycle].',
    'Then somebody [laughed|coughed], but not unkindly. It was {h}, {a_hkind} [from the next village|on a walking holiday].',
    '[As luck would have it|By a happy chance|As it turned out], {a_hkind} [named|called] {h} was [walking past|resting in the shade|waiting for the coach] and [heard everything|saw it all|asked what was wrong].',
    '[It was then|It was at this point] that {a_hkind} [named|called] {h} [came along the road|put a head through the window|stepped out from behind a hedge].',
    '[Who should come by but|Along came|Past the gate came] {h}, {a_hkind} [with time to spare|on the way to market|with a sprig of clover in one ear].',
    '[The first to notice|The only one to ask|The one who stopped] was {h}, {a_hkind} [who lived nearby|on a short visit|who had come for the quiet].',
    '[Around noon|At tea time|Toward evening] {a_hkind} [named|called] {h} [arrived|turned up|appeared], [sat down on the step|shook off the dust] and [listened|looked about].',
    '[Some help comes late|Good advice walks slowly], but that day it [came|arrived] in the shape of {h}, {a_hkind} [with a thoughtful face|with a large scarf|and a good listener].',
    '{A_hkind} [named|called] {h}, [who had been asleep nearby|who liked a riddle|who was only passing], [opened one eye|put down a newspaper|came closer].',
]

OFFERS = [
    '"You look [sad|tired|cross|puzzled|hungry]," said {h}. "I will [help you|have a look] for {a_pay}." "Done," said {name}.',
    '"I could help," said the {hkind}, "but I think better [after|with] {a_pay}." {name} [promised|agreed|nodded].',
    '"What is the matter?" asked {h}, and {name} told {hhim} everything. "Well," said {h}, "for {a_pay} I will [have a look|see what I can do]."',
    '"Can you help me?" asked {name}. "Perhaps," said the {hkind}. "Is there {a_pay} in it?" There was.',
    '"Oh dear," said {h}. "Oh dear," said {name}. "I charge {a_pay}," said {h}, and they shook hands.',
    '"I see that you have [a problem|some trouble]," said the {hkind}. "I know [all|something] about problems. My price is {a_pay}."',
    '"[Good day|Good morning|Hello]," said {h}. "[That looks like trouble|Trouble, is it|You have the look of somebody with a question]." "[It is|Yes]," said {name}, and [offered|promised] the {hkind} {a_pay}.',
    '{h} [asked|wanted to know] what the matter was, and {name} [explained|told the whole story|drew a picture of it]. "{A_pay}," said {h}, "and it is [as good as done|a bargain]."',
    '"For {a_pay}," said the {hkind}, "I would [look into it|think about it|put my mind to it]." "[Gladly|With pleasure|At once]," said {name}.',
    '"[Tell me|Say it slowly|Begin at the beginning]," said {h}, and [so {name} did|{name} told it twice|{name} sighed and began]. "[Hm|I see|Aha]," said {h}. "That will be {a_pay}."',
    '"Do you [take|accept] {a_pay}?" asked {name}. "[Always|It depends on the size|What else]," said the {hkind}, [and rolled up both sleeves|and came in|and sat down to think].',
    '{name} had [little|no money] to offer but {a_pay}, and {h} [was delighted|had wished for nothing else|thought it a fair price].',
]

REMINDERS = [
    'Then {name} remembered {the_object}.',
    '"What [have you got|do you have] in the house?" asked {h}. "Only {the_object}," said {name}. "That will do[ nicely|]," said {h}.',
    '{name} thought [hard|for a moment], and then {he} [smiled|laughed|jumped up]. At last there was a use for {the_object}!',
    '"If only we had the right thing for it," said {h}, and [at once |]{name} thought of {the_object}.',
    '[All at once|Suddenly|Slowly] {name} [thought of|remembered] {the_object}, [which had waited so long|and where it was|and ran to fetch it].',
    '"[Is there|Do you have] anything [useful|of the right size|with a point to it] in the house?" asked {h}. {name} [began to shake {his} head, and stopped|looked around|thought], and then [there was|came] {the_object}.',
    '"[Think|Now think]," said {h}. "[What is small|What is lying about|What have you never used]?" [And there it was|{name} thought]: {the_object}.',
    '{name} had [almost|quite|clean] forgotten {the_object}, [until now|until that very moment|which had been there all the time].',
    '"[Wait|Stop|One moment]," said {name}, [and ran indoors|and searched high and low|and felt in every corner], and [came back with|found|held up] {the_object}.',
]

REWARDS = [
    '{h} was given {the_pay}, as promised, and [stayed until dark|came back the next day for more|fell asleep by the fire].',
    '{name} brought out {the_pay}, and the two of them shared, [half and half|fairly, more or less|under the stars].',
    '{h} had earned {the_pay}, and said that it was the [easiest|nicest|best paid] work of the [week|year].',
    'As for {h}, {hhe} went home with {the_pay} and a new friend.',
    'And {name} did not forget {the_pay}, which {h} enjoyed [very much|to the last bit|with closed eyes].',
    '[That evening|Before {hhe} left|When all was done], {h} [was handed|received|got] {the_pay}, and [there was singing|they parted as friends|neither of them was in a hurry to go].',
    '{The_pay} [went to|was for] {h}, [of course|as agreed], who [said that it was plenty|shared it with {name}|made it last all evening].',
    '{h} [asked for nothing more than|wanted only|took] {the_pay}, and [ate slowly|enjoyed every bit|was asked to stay for supper], [and did|twice|with a happy sigh].',
    '"[A promise is a promise|Fair is fair|Here you are]," said {name}, and [fetched|brought|put down] {the_pay}. {h} [beamed|bowed|was not too proud to take it].',
    'There was {the_pay} for {h}, and [a song|a cup of tea|a seat by the fire] [for them both|for everybody|besides].',
]

CLOSINGS = ['', '', '', '[And that is the whole story.|And that was that.|The end.]']

TALES = [{'trade': trade, 'cause': cause, 'name': name, 'gender': gender, 'kind': kind, 'village': village, 'helper': helper}
         for trade, heroes in HEROES.items()
         for cause, (name, gender, kind, village, helper) in zip(PLOTS[trade]['causes'], heroes)]


class Story:
    """One telling of a tale: random, or with the properties of `wanted`."""

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
        """One or two sentences from a list of templates; with probability 1 − `chance`, nothing."""
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
