"""The forward pass in NumPy float32, without a cache; writes expected.json. It shares no code with model.py: each checks the
other."""

import numpy as np


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def rotate(x, base):
    """x [T, H, d]; rotates each pair (2i, 2i+1) by position · base^(-2i/d)."""
    t, _, d = x.shape
    angle = np.arange(t)[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = (f(angle).astype(np.float32)[:, None, :] for f in (np.cos, np.sin))
    out = np.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


def attention(x, w, prefix, c):
    t, d = len(x), c.head_dim
    q = rotate((x @ w[prefix + 'attn_q.weight'].T).reshape(t, c.heads, d), c.rope_base)
    k = rotate((x @ w[prefix + 'attn_k.weight'].T).reshape(t, c.kv_heads, d), c.rope_base)
    v = (x @ w[prefix + 'attn_v.weight'].T).reshape(t, c.kv_heads, d)
    mixed = np.empty_like(q)
    for head in range(c.heads):
        group = head // (c.heads // c.kv_heads)
        scores = q[:, head] @ k[:, group].T / np.float32(np.sqrt(d))
        scores[np.triu_indices(t, 1)] = -np.inf
        p = np.exp(scores - scores.max(-1, keepdims=True))
        mixed[:, head] = p / p.sum(-1, keepdims=True) @ v[:, group]
    return mixed.reshape(t, -1) @ w[prefix + 'attn_output.weight'].T


def feed_forward(x, w, prefix):
    gate, up = x @ w[prefix + 'ffn_gate.weight'].T, x @ w[prefix + 'ffn_up.weight'].T
    return (gate / (1 + np.exp(-gate)) * up) @ w[prefix + 'ffn_down.weight'].T


def logits(ids, w, c):
    """ids → logits [T, vocab]; `w` maps GGUF names to float32 arrays."""
    x = w['token_embd.weight'][ids]
    for i in range(c.layers):
        prefix = f'blk.{i}.'
        x = x + attention(rms_norm(x, w[prefix + 'attn_norm.weight'], c.eps), w, prefix, c)
        x = x + feed_forward(rms_norm(x, w[prefix + 'ffn_norm.weight'], c.eps), w, prefix)
    return rms_norm(x, w['output_norm.weight'], c.eps) @ w['token_embd.weight'].T


def greedy(prompt_ids, count, w, c, floor=0.0):
    """The next `count` ids, and the smallest gap between the best two logits on the way; stops early at a gap ≤ `floor`."""
    ids, gap = list(prompt_ids), np.inf
    while gap > floor and len(ids) < len(prompt_ids) + count:
        last = logits(ids, w, c)[-1]
        second, first = np.argsort(last)[-2:]
        gap = min(gap, last[first] - last[second])
        ids.append(int(first))
    return ids[len(prompt_ids):], float(gap)
