"""Converts a checkpoint to the package's model/quern-demo.gguf, and writes model/expected.json.

    python3 export.py --out /tmp/demo-model --package ../../packages/demo-model"""

import argparse
import hashlib
import json
import random
from pathlib import Path

import torch

from corpus import CHAT_TEMPLATE, SPECIAL_TOKENS
from gguf import (ARRAY, BOOL, F32, FLOAT32, INT32, Q8_0, STRING, UINT32, dequantise_q8_0, pack_q8_0, quantise_q8_0,
                  write_gguf)
from grammar import Story
from model import Config
from reference import greedy, logits
from train import load_tokenizer

GREEDY_COUNT = 64
CANDIDATES = 60
NORMAL, CONTROL = 1, 3

GGUF_NAMES = {
    'embed.weight': 'token_embd.weight', 'norm.weight': 'output_norm.weight',
    'attn_norm.weight': 'attn_norm.weight', 'ffn_norm.weight': 'ffn_norm.weight',
    'attn.q.weight': 'attn_q.weight', 'attn.k.weight': 'attn_k.weight', 'attn.v.weight': 'attn_v.weight',
    'attn.output.weight': 'attn_output.weight',
    'ffn.gate.weight': 'ffn_gate.weight', 'ffn.up.weight': 'ffn_up.weight', 'ffn.down.weight': 'ffn_down.weight',
}


def gguf_name(name):
    if name.startswith('blocks.'):
        _, layer, rest = name.split('.', 2)
        return f'blk.{layer}.{GGUF_NAMES[rest]}'
    return GGUF_NAMES[name]


def metadata(config, tokenizer):
    types = [CONTROL if token in SPECIAL_TOKENS else NORMAL for token in tokenizer.tokens]
    ids = tokenizer.ids
    return [
        ('general.architecture', STRING, 'llama'),
        ('general.name', STRING, 'Quern demo storyteller'),
        ('general.description', STRING, 'A small storyteller, trained on the sentences of a grammar.'),
        ('general.license', STRING, 'Apache-2.0'),
        ('general.file_type', UINT32, 7),
        ('general.quantization_version', UINT32, 2),
        ('llama.vocab_size', UINT32, config.vocab),
        ('llama.context_length', UINT32, config.context),
        ('llama.embedding_length', UINT32, config.dim),
        ('llama.block_count', UINT32, config.layers),
        ('llama.feed_forward_length', UINT32, config.ffn),
        ('llama.attention.head_count', UINT32, config.heads),
        ('llama.attention.head_count_kv', UINT32, config.kv_heads),
        ('llama.attention.layer_norm_rms_epsilon', FLOAT32, config.eps),
        ('llama.rope.dimension_count', UINT32, config.head_dim),
        ('llama.rope.freq_base', FLOAT32, config.rope_base),
        ('tokenizer.ggml.model', STRING, 'gpt2'),
        ('tokenizer.ggml.pre', STRING, 'gpt-2'),
        ('tokenizer.ggml.tokens', (ARRAY, STRING), tokenizer.tokens),
        ('tokenizer.ggml.token_type', (ARRAY, INT32), types),
        ('tokenizer.ggml.merges', (ARRAY, STRING), [' '.join(pair) for pair in tokenizer.merges]),
        ('tokenizer.ggml.bos_token_id', UINT32, ids['<|endoftext|>']),
        ('tokenizer.ggml.eos_token_id', UINT32, ids['<|endoftext|>']),
        ('tokenizer.ggml.eot_token_id', UINT32, ids['<|end|>']),
        ('tokenizer.ggml.add_bos_token', BOOL, True),
        ('tokenizer.ggml.add_space_prefix', BOOL, False),
        ('tokenizer.chat_template', STRING, CHAT_TEMPLATE),
    ]


def quantised(state):
    """The tensors for the file, and their float32 values as a reader decodes them."""
    tensors, weights = [], {}
    for name, value in state.items():
        name, x = gguf_name(name), value.float().numpy()
        if x.ndim == 1:
            tensors.append((name, x.shape, F32, x.tobytes()))
            weights[name] = x
        else:
            scales, values = quantise_q8_0(x)
            tensors.append((name, x.shape, Q8_0, pack_q8_0(scales, values)))
            weights[name] = dequantise_q8_0(scales, values, x.shape)
    return tensors, weights


def opening(seed):
    """A story's first sentence, as a prompt."""
    return Story(random.Random(seed)).text().split('. ')[0] + '.'


def expectation(tokenizer, weights, config):
    """The prompt whose greedy path is farthest from a tie: rounding cannot change it."""
    best = {'minGap': 0.0}
    for prompt in map(opening, range(CANDIDATES)):
        ids = [tokenizer.ids['<|endoftext|>']] + tokenizer.encode(prompt)
        out, gap = greedy(ids, GREEDY_COUNT, weights, config, best['minGap'])
        if gap > best['minGap']:
            best = {'prompt': prompt, 'promptIds': ids, 'greedyIds': out, 'text': tokenizer.decode(out), 'minGap': gap}
    best['logitsLast'] = [float(v) for v in logits(best['promptIds'], weights, config)[-1][:8]]
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', type=Path, required=True, help='the folder that train.py wrote')
    parser.add_argument('--package', type=Path, required=True)
    args = parser.parse_args()
    state = torch.load(args.out / 'checkpoint.pt', map_location='cpu')
    config = Config(**state['config'])
    tokenizer = load_tokenizer(args.out, config.vocab, 0)
    tensors, weights = quantised(state['model'])

    folder = args.package / 'model'
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / 'quern-demo.gguf'
    write_gguf(path, metadata(config, tokenizer), tensors)
    data = path.read_bytes()
    expected = {'sha256': hashlib.sha256(data).hexdigest(), 'bytes': len(data), 'step': state['step'],
                **expectation(tokenizer, weights, config)}
    (folder / 'expected.json').write_text(json.dumps(expected, indent=2) + '\n')
    print(f'{path}: {len(data)} bytes, smallest gap {expected["minGap"]:.4f}\n{expected["prompt"]}{expected["text"]}')


if __name__ == '__main__':
    main()
