"""Who plays in which tale. Every cause of every plot has its own hero, home and helper, so that the people of the stories
are always themselves: the same fox mills, and the same owl wants a ginger biscuit for her advice.

A model this small learns who belongs to what in minutes; to keep apart names that could be anybody's takes it far longer."""

# Helpers: kind → name, gender, and what is asked for (as first named, and as named afterwards).
HELPERS = {
    'owl': ('Ottilie', 'f', 'a ginger biscuit', 'the biscuit'),
    'tortoise': ('Humphrey', 'm', 'a bowl of onion soup', 'the soup'),
    'mouse': ('Pim', 'm', 'a wedge of cheese', 'the cheese'),
    'crow': ('Edith', 'f', 'a cherry tart', 'the tart'),
    'mole': ('Basil', 'm', 'a pot of hot tea', 'the tea'),
    'hare': ('Lotte', 'f', 'a plate of pancakes', 'the pancakes'),
    'squirrel': ('Felix', 'm', 'a bag of walnuts', 'the walnuts'),
    'grandmother': ('Winifred', 'f', 'a slice of plum cake', 'the plum cake'),
    'schoolgirl': ('Posy', 'f', 'a baked apple', 'the apple'),
    'sailor': ('Gus', 'm', 'a jar of honey', 'the honey'),
    'juggler': ('Ludo', 'm', 'a large pretzel', 'the pretzel'),
}

# Heroes: trade → for each cause in turn, the name, gender, kind (None for a person), village and helper.
HEROES = {
    'miller': [('Tilda', 'f', 'fox', 'Quernstone', 'mole'), ('Bruno', 'm', 'bear', 'Barley Bottom', 'crow'),
               ('Tobias', 'm', None, 'Sleepy Weir', 'owl')],
    'baker': [('Hazel', 'f', 'hedgehog', 'Upper Crumb', 'hare'), ('Barnaby', 'm', 'badger', 'Oatley', 'mouse'),
              ('Mabel', 'f', None, 'Upper Crumb', 'schoolgirl')],
    'clockmaker': [('Otto', 'm', 'mouse', 'Far Cuckoo', 'squirrel'), ('Clementine', 'f', 'tortoise', 'Far Cuckoo', 'grandmother'),
                   ('Anselm', 'm', None, 'Candlewick', 'crow')],
    'shepherd': [('Nell', 'f', None, 'Nettle Hill', 'owl'), ('Wilbur', 'm', 'dragon', 'Nettle Hill', 'schoolgirl'),
                 ('Fern', 'f', 'rabbit', 'Thistledown', 'tortoise')],
    'lighthouse keeper': [('Mortimer', 'm', 'otter', 'Teacup Bay', 'sailor'), ('Pearl', 'f', 'duck', 'Teacup Bay', 'sailor')],
    'letter carrier': [('Jasper', 'm', 'hare', 'Windle', 'mole'), ('Greta', 'f', 'goose', 'Windle', 'juggler'),
                       ('Linus', 'm', 'frog', 'Duckpond', 'mouse')],
    'tailor': [('Cuthbert', 'm', 'goat', 'Pudding Lane', 'grandmother'), ('Bettina', 'f', 'cat', 'Pudding Lane', 'crow')],
    'gardener': [('Rosalind', 'f', 'mole', 'Gooseberry Green', 'tortoise'), ('Hugo', 'm', 'donkey', 'Mossy Hollow', 'hare')],
    'innkeeper': [('Osbert', 'm', 'bear', 'Three Chimneys', 'schoolgirl'), ('Marta', 'f', None, 'Three Chimneys', 'squirrel')],
    'fiddler': [('Poppy', 'f', 'fox', 'Much Humming', 'mouse'), ('Emil', 'm', 'frog', 'Much Humming', 'juggler')],
    'beekeeper': [('Ferdinand', 'm', 'badger', 'Thistledown', 'grandmother'), ('Dora', 'f', 'hedgehog', 'Mossy Hollow', 'mole')],
    'ferry captain': [('Rufus', 'm', 'squirrel', 'Sleepy Weir', 'tortoise'), ('Ida', 'f', 'otter', 'Duckpond', 'hare')],
    'wizard': [('Alder', 'm', 'owl', 'Candlewick', 'squirrel'), ('Juniper', 'f', 'cat', 'Little Wobbling', 'owl')],
    'librarian': [('Agnes', 'f', 'crow', 'Lower Muddle', 'mole'), ('Edmund', 'm', None, 'Lower Muddle', 'owl')],
    'mayor': [('Maud', 'f', 'goose', 'Butterbridge', 'mouse'), ('Rowan', 'm', 'donkey', 'Butterbridge', 'juggler')],
    'inventor': [('Saffron', 'f', 'rabbit', 'Little Wobbling', 'schoolgirl'), ('Wren', 'f', 'duck', 'Gooseberry Green', 'crow')],
}
