"""Trains the tokenizer and the model.

    python3 train.py --out /tmp/demo-model [--steps 2200] [--seed 7] [--resume]

Writes tokenizer.json (special tokens and merges) once, and checkpoint.pt every few hundred steps."""

import argparse
import json
import random
import re
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from cast import HELPERS
from characters import TRAITS
from corpus import SPECIAL_TOKENS, documents
from grammar import PRONOUNS, TALES
from model import Config, Llama
from tokenizer import Tokenizer, train_merges

TOKENS = 2048
POOL = 128
PADDING = -100
EMPHASIS = 3.0
WARMUP = 100
DECAY_SHARE = 0.4
PEAK_RATE = 2e-3
HELD_OUT_SEED = 999_983


def load_tokenizer(out, vocab, seed):
    path = out / 'tokenizer.json'
    if not path.exists():
        markup = '|'.join(map(re.escape, SPECIAL_TOKENS))
        texts = [part for doc in documents(8000, seed) for part in re.split(markup, doc)]
        merges = train_merges(texts, vocab - 256 - len(SPECIAL_TOKENS))
        path.write_text(json.dumps({'special': SPECIAL_TOKENS, 'merges': merges}))
    stored = json.loads(path.read_text())
    return Tokenizer(stored['special'], [tuple(pair) for pair in stored['merges']])


def lesson(tokenizer, source):
    """A document between two <|endoftext|>, as (inputs, targets)."""
    boundary = tokenizer.ids['<|endoftext|>']
    ids = [boundary, *tokenizer.encode(next(source)), boundary]
    return ids[:-1], ids[1:]


def batches(tokenizer, config, seed):
    """Endless (inputs, targets), both [B, T]: whole documents of similar length, about TOKENS ids in total. Documents do not
    see each other: the only visible names are the story's own."""
    source, rng = documents(10 ** 9, seed), random.Random(seed)
    while True:
        pool = [lesson(tokenizer, source) for _ in range(POOL)]
        pool.sort(key=lambda pair: len(pair[0]))
        groups = []
        while pool:
            count = max(1, TOKENS // len(pool[-1][0]))
            groups.append(pool[-count:])
            del pool[-count:]
        rng.shuffle(groups)
        for group in groups:
            width = min(config.context, max(len(ids) for ids, _ in group))
            yield (torch.tensor([(ids + [0] * width)[:width] for ids, _ in group]),
                   torch.tensor([(ids + [PADDING] * width)[:width] for _, ids in group]))


def loss_weights(tokenizer):
    """Names and pronouns have larger weights: keeping them consistent is the hardest part of a story."""
    weights = torch.ones(len(tokenizer.tokens))
    names = [tale['name'] for tale in TALES] + [helper[0] for helper in HELPERS.values()]
    words = [*names, *TRAITS, *(word for pronouns in PRONOUNS.values() for word in pronouns.values())]
    for word in words:
        for form in (word, word.capitalize(), ' ' + word):
            weights[tokenizer.encode(form)[0]] = EMPHASIS
    return weights


def loss_of(model, batch, weights=None):
    inputs, targets = batch
    with torch.autocast('cpu', torch.bfloat16):
        logits = model(inputs)
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), weights, ignore_index=PADDING)


def held_out_loss(model, tokenizer, config):
    source = batches(tokenizer, config, HELD_OUT_SEED)
    with torch.no_grad():
        return sum(loss_of(model, next(source)).item() for _ in range(16)) / 16


def rate_at(step, steps):
    """Linear warm-up, a plateau, linear decay to zero at the end."""
    return PEAK_RATE * min(1, (step + 1) / WARMUP, (steps - step) / (DECAY_SHARE * steps))


def optimiser_for(model):
    """A small rate for the embedding: rows of rare words must move slowly to be recognised."""
    embedding = [model.embed.weight]
    matrices = [p for p in model.blocks.parameters() if p.dim() == 2]
    gains = [p for p in model.parameters() if p.dim() == 1]
    groups = [{'params': embedding, 'share': 0.5, 'weight_decay': 0.0},
              {'params': matrices, 'share': 1.0, 'weight_decay': 0.05},
              {'params': gains, 'share': 1.0, 'weight_decay': 0.0}]
    return torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.99))


def train_step(model, optimiser, batch, rate, weights):
    for group in optimiser.param_groups:
        group['lr'] = rate * group['share']
    loss = loss_of(model, batch, weights)
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss.item()


def save(out, model, optimiser, step):
    state = {'model': model.state_dict(), 'optimiser': optimiser.state_dict(), 'step': step,
             'config': model.config.__dict__}
    torch.save(state, out / 'checkpoint.tmp')
    (out / 'checkpoint.tmp').rename(out / 'checkpoint.pt')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', type=Path, required=True)
    parser.add_argument('--steps', type=int, default=2200)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--resume', action='store_true')
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    config = Config()
    tokenizer = load_tokenizer(args.out, config.vocab, args.seed)
    model = Llama(config)
    optimiser, first = optimiser_for(model), 0
    if args.resume:
        state = torch.load(args.out / 'checkpoint.pt')
        model.load_state_dict(state['model'])
        optimiser.load_state_dict(state['optimiser'])
        first = state['step']
    print(f'{sum(p.numel() for p in model.parameters())} parameters', flush=True)

    source = batches(tokenizer, config, args.seed + first)
    start, smooth = time.time(), None
    weights, seen = loss_weights(tokenizer), 0
    for step in range(first, args.steps):
        batch = next(source)
        seen += batch[0].numel()
        loss = train_step(model, optimiser, batch, rate_at(step, args.steps), weights)
        smooth = loss if smooth is None else 0.98 * smooth + 0.02 * loss
        if (step + 1) % 50 == 0:
            seconds = time.time() - start
            print(f'step {step + 1} loss {smooth:.4f} {seen / seconds:.0f} tokens/s {seconds:.0f} s', flush=True)
        if (step + 1) % 100 == 0 or step + 1 == args.steps:
            save(args.out, model, optimiser, step + 1)
    print(f'held-out loss {held_out_loss(model, tokenizer, config):.4f}', flush=True)


if __name__ == '__main__':
    main()
