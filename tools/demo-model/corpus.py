"""Documents for training: stories, and conversations in the markup of the chat template."""

import random

from chat import conversation
from grammar import Story

SPECIAL_TOKENS = ['<|endoftext|>', '<|user|>', '<|assistant|>', '<|end|>']

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}<|user|>{{ message['content'] }}<|end|>"
    "{% elif message['role'] == 'assistant' %}<|assistant|>{{ message['content'] }}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def markup(turns):
    return ''.join(f'<|user|>{question}<|end|><|assistant|>{answer}<|end|>' for question, answer in turns)


def documents(count, seed, chat_share=0.65):
    """`count` documents, each without the <|endoftext|> before it."""
    rng = random.Random(seed)
    for _ in range(count):
        yield markup(conversation(rng)) if rng.random() < chat_share else Story(rng).text()
