// Gemma 3 and Phi through the whole runtime: folder, GGUF quantisation, planning, loading, decoding. The greedy tokens
// must equal the equations' in plain numbers.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { scratch } from '../../../models/test/model-files.js';
import { plainGemma } from '../../../models/test/plain/gemma.js';
import { plainPhi } from '../../../models/test/plain/phi.js';
import { type Parameters, randomParameters, writeFolder } from '../../../models/test/random-folder.js';
import { gemma3Config, gemma3Parameters, gemma3Sizes } from '../../../models/test/tiny-gemma.js';
import { longSizes, phiConfig, phiParameters, shortSizes } from '../../../models/test/tiny-phi.js';
import { type LoadOptions, loadModel, quantizeModel } from '../../src/index.js';
import { byteCharacters } from '../../src/tokenizer/byte-level.js';
import { hasCpu } from '../backends.js';

const end = '<|endoftext|>';
const V = byteCharacters.length + 1;
const tokenizer = {
  added_tokens: [{ id: V - 1, content: end, special: true, normalized: false }],
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
  decoder: { type: 'ByteLevel' },
  model: {
    type: 'BPE',
    vocab: Object.fromEntries(byteCharacters.map((letter, id) => [letter, id])),
    merges: [],
  },
};

/** Embedding and output with a row per token. */
const withTokens = (parameters: Parameters, width: number): Parameters =>
  new Map([...parameters, ...randomParameters({ 'model.embed_tokens.weight': [V, width] }, 0.3)]);

const gemma = withTokens(gemma3Parameters, 24);
const phi = withTokens(phiParameters, 64);
const models = [
  {
    name: 'gemma3',
    config: gemma3Config,
    parameters: gemma,
    context: 32,
    logits: (ids: readonly number[]) => plainGemma(gemma, ids, gemma3Sizes),
  },
  {
    name: 'phi, up to its original context',
    config: phiConfig,
    parameters: phi,
    context: 12,
    logits: (ids: readonly number[]) => plainPhi(phi, ids, shortSizes),
  },
  {
    name: 'phi, beyond its original context',
    config: phiConfig,
    parameters: phi,
    context: 32,
    logits: (ids: readonly number[]) => plainPhi(phi, ids, longSizes),
  },
];

async function writeModels({ name, config, parameters }: (typeof models)[number]): Promise<string[]> {
  const folder = writeFolder(name.replaceAll(' ', '-'), { ...config, vocab_size: V }, parameters);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify({ eos_token: end }));
  const gguf = scratch(`${name.replaceAll(' ', '-')}.gguf`);
  await quantizeModel(folder, gguf, { mix: 'f32' });
  return [folder, gguf];
}

interface TestedBackend {
  readonly on: string;
  readonly variants: readonly LoadOptions[];
  open(): Promise<Backend>;
}

const backends: readonly TestedBackend[] = [
  { on: 'reference', open: createReference, variants: [{ sequences: 2 }] },
  ...(hasCpu
    ? [
        {
          on: 'cpu',
          open: async () => (await import('@quern/backend-cpu')).createBackend({ threads: 2 }),
          variants: [{ graph: false }, { blockSize: 16, prefillChunk: 3 }, { sequences: 2 }],
        },
      ]
    : []),
];

/** By name and ids: all ways to compute have the same. */
const known = new Map<string, readonly number[]>();
const argmax = (logits: readonly number[]) => logits.indexOf(Math.max(...logits));

const cases = models.flatMap((tiny) => backends.map((backend) => ({ ...tiny, ...backend })));

test.each(cases)('$name, on $on', async ({ open, variants, ...tiny }) => {
  using backend = await open();
  const prompt = [72, 101, 108, 108];
  const options = { temperature: 0, maxTokens: tiny.context - prompt.length, ignoreEos: true };
  for (const path of await writeModels(tiny))
    for (const variant of variants) {
      const { sequences = 1 } = variant;
      using model = await loadModel(path, { ...variant, backend, cacheDtype: 'f32', context: tiny.context });
      const streams = Array.from({ length: sequences }, () => model.generate(prompt, options).result);
      for (const { tokens } of await Promise.all(streams)) {
        const ids = [...prompt, ...tokens];
        const key = `${tiny.name} ${ids}`;
        const expected = known.get(key) ?? tiny.logits(ids).map(argmax);
        known.set(key, expected);
        expect(tokens).toHaveLength(tiny.context - prompt.length);
        expect([...tokens]).toEqual(expected.slice(prompt.length - 1, -1));
      }
    }
});
