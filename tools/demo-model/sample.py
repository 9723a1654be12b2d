"""Prints stories and answers of a checkpoint.

    python3 sample.py --out /tmp/demo-model [--temperature 0.7] [--seed 1] "Once upon a time" "chat: Who are you?" """

import argparse
from pathlib import Path

import torch

from model import Config, Llama
from train import load_tokenizer


def sample(model, ids, temperature, stop, generator):
    prompt = len(ids)
    while len(ids) < model.config.context:
        logits = model(torch.tensor([ids]))[0, -1]
        if temperature > 0:
            nxt = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator).item()
        else:
            nxt = logits.argmax().item()
        if nxt in stop:
            break
        ids = ids + [nxt]
    return ids[prompt:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', type=Path, required=True)
    parser.add_argument('--temperature', type=float, default=0.7)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('prompts', nargs='+')
    args = parser.parse_args()
    torch.set_num_threads(1)
    state = torch.load(args.out / 'checkpoint.pt', map_location='cpu')
    model = Llama(Config(**state['config']))
    model.load_state_dict(state['model'])
    tokenizer = load_tokenizer(args.out, model.config.vocab, 0)
    generator = torch.Generator().manual_seed(args.seed)
    stop = {tokenizer.ids[t] for t in ('<|endoftext|>', '<|end|>')}
    with torch.no_grad():
        for prompt in args.prompts:
            text = prompt.replace('chat: ', '<|user|>', 1) + '<|end|><|assistant|>' if prompt.startswith('chat: ') else prompt
            ids = [tokenizer.ids['<|endoftext|>']] + tokenizer.encode(text)
            print(f'> {prompt}' + tokenizer.decode(sample(model, ids, args.temperature, stop, generator)), end='\n\n')


if __name__ == '__main__':
    main()
