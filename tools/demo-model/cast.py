"""The cast: every cause of every plot has its own hero, home and helper, so people never change between stories: the same
fox mills, and the same owl asks for a ginger biscuit.

A model of this size learns a fixed cast in minutes; freely drawn names take it far longer."""

# Helpers: kind → name, gender, and the requested object (first mention, later mentions).
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

# Heroes: trade → per cause: name, gender, kind (None: a person), village and helper.
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
