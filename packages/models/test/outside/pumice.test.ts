import { readFileSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import type { Tensor, Weight } from '@quern/core';
import {
  type Architecture,
  decoderConfigFromHuggingFace,
  layerRope,
  loadLanguageModel,
  noWindows,
  openModelFile,
  projectHeads,
  registerArchitecture,
  rootMeanSquareNorm,
  Settings,
  swigluFeedForward,
} from '@quern/models';
import { pumice } from '../../../../docs/examples/architecture/pumice.js';
import { convertFolder, randomParameters, writeFolder } from '../random-folder.js';
import { distance, sequenceLogits } from '../run-model.js';
import { plainPumice } from './plain-pumice.js';

registerArchitecture(pumice, { package: 'quern-pumice' });

const config = {
  architectures: ['PumiceForCausalLM'],
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 10,
  max_position_embeddings: 32,
  rms_norm_eps: 1e-6,
  rope_theta: 500_000,
  tie_word_embeddings: false,
};
const sizes = {
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 4,
  theta: config.rope_theta,
  eps: config.rms_norm_eps,
};
const ids = [3, 1, 4, 1, 5, 9];

function layerShapes(prefix: string): Record<string, readonly number[]> {
  return {
    [`${prefix}.self_attn.q_proj.weight`]: [16, 16],
    [`${prefix}.self_attn.k_proj.weight`]: [8, 16],
    [`${prefix}.self_attn.v_proj.weight`]: [8, 16],
    [`${prefix}.self_attn.o_proj.weight`]: [16, 16],
    [`${prefix}.self_attn.q_norm.weight`]: [16],
    [`${prefix}.self_attn.k_norm.weight`]: [8],
    [`${prefix}.post_attention_layernorm.weight`]: [16],
    [`${prefix}.post_feedforward_layernorm.weight`]: [16],
    [`${prefix}.mlp.gate_proj.weight`]: [24, 16],
    [`${prefix}.mlp.up_proj.weight`]: [24, 16],
    [`${prefix}.mlp.down_proj.weight`]: [16, 24],
  };
}

const parameters = randomParameters({
  'model.embed_tokens.weight': [10, 16],
  'model.norm.weight': [16],
  'lm_head.weight': [10, 16],
  ...layerShapes('model.layers.0'),
  ...layerShapes('model.layers.1'),
});
const folder = () => writeFolder('pumice', config, parameters);

async function logitsOf(path: string): Promise<number[][]> {
  const backend = await createBackend();
  const model = await loadLanguageModel(await openModelFile(path), backend);
  try {
    expect(model.architecture).toBe('pumice');
    return await sequenceLogits(model, ids, 4); // two steps: the second attends to the first's cache
  } finally {
    model.dispose();
    backend.dispose();
  }
}

test('the example’s logits equal the equations’', async () => {
  const expected = plainPumice(parameters, ids, sizes);
  expect(distance(await logitsOf(folder()), expected)).toBeLessThan(1e-5);
});

test('converted to GGUF: the same logits', async () => {
  expect(distance(await logitsOf(await convertFolder(folder())), await logitsOf(folder()))).toBeLessThan(
    1e-7,
  );
});

const page = readFileSync(new URL('../../../../docs/writing-a-model.md', import.meta.url), 'utf8');
const blocks = new Map(
  [...page.matchAll(/^```(?:ts|json) (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [name!, text!]),
);
const example = new URL('../../../../docs/examples/architecture/', import.meta.url);

test.each(['pumice.ts', 'index.ts', 'register.ts'])('docs/writing-a-model.md shows %s unchanged', (name) => {
  expect(blocks.get(name)).toBe(readFileSync(new URL(name, example), 'utf8'));
});

/** The page's code block with `text`. */
const blockWith = (text: string): string =>
  [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!).find((code) => code.includes(text))!;

test('the page’s attention: that of attendCache', async () => {
  const code = blockWith('b.kvAppend').replaceAll(']!', ']');
  const names = [
    'b',
    'config',
    'layerRope',
    'heads',
    'kvHeads',
    'headDim',
    'q',
    'k',
    'v',
    'w',
    'i',
    'batch',
    'cache',
  ];
  const attend = new Function(...names, code);
  const byOps: Architecture = {
    ...pumice,
    accepts: ({ path }) => path.includes('by-hand'),
    build(b, weights, c) {
      const w = weights as Parameters<typeof pumice.build>[1];
      const [heads, kvHeads, d] = [c.heads, c.kvHeads, c.headDim];
      const project = projectHeads(b, c);
      const norm = rootMeanSquareNorm(b, c);
      const normed = (x: Tensor, weight: Weight) =>
        b.view(norm(b.view(x, [x.shape[0]!, x.shape[1]! * d]), weight), x.shape);
      return {
        ...pumice.build(b, w, c),
        layer(x, i, batch, cache) {
          const own = w.layers[i]!;
          const { q, k, v } = project(x, own);
          const [nq, nk] = [normed(q, own.qNorm), normed(k, own.kNorm)];
          const y: Tensor = attend(b, c, layerRope, heads, kvHeads, d, nq, nk, v, own, i, batch, cache);
          const h = b.add(x, norm(y, own.attnOutputNorm));
          return b.add(h, norm(swigluFeedForward(b)(h, own), own.ffnOutputNorm));
        },
      };
    },
  };
  registerArchitecture(byOps);
  const byHand = writeFolder('by-hand', config, parameters);
  expect(await logitsOf(byHand)).toEqual(await logitsOf(folder()));
});

test('the page’s settings reader: defaults and refusals as described', () => {
  const made = new Function(
    'decoderConfigFromHuggingFace',
    'noWindows',
    `return ({ ${blockWith('clip_qkv')} }).configFromHuggingFace`,
  );
  const read = made(decoderConfigFromHuggingFace, noWindows);
  const source = (changes: object) => ({
    settings: new Settings(
      'config.json',
      (key) => Object.entries({ ...config, ...changes }).find(([k]) => k === key)?.[1],
    ),
    weights: { naming: 'huggingFace', paths: [], tensors: new Map() },
  });
  expect(read(source({ max_position_embeddings: undefined }))).toMatchObject({
    normEps: 1e-5,
    context: 4096,
  });
  expect(read(source({ layer_norm_eps: 1e-3 }))).toMatchObject({ normEps: 1e-3, context: 32 });
  expect(() => read(source({ clip_qkv: 8 }))).toThrow('clip_qkv is 8: values are not clipped');
});
