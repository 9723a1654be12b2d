// Files of iq1, iq2, iq3 and tq. On a backend that reads iq8: a quarter of the f32 memory, equal numbers.
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { random } from '@quern/core/testing';
import { byteLength, formatNames, formats, type GgufFormat, isIq8Source, writeGguf } from '@quern/quant';
import { loadLanguageModel, openModelFile } from '../src/index.js';
import { testedBackends } from './backends.js';
import { decodedBytes, randomTensor, rewriteGguf, scratch } from './model-files.js';
import { distance, sequenceLogits } from './run-model.js';

/** D 256, H 4, Hk 2, d 64, F 256, V 16, one layer: each row is one block. */
const shapes: Readonly<Record<string, readonly [number, number]>> = {
  'blk.0.attn_q.weight': [256, 256],
  'blk.0.attn_k.weight': [128, 256],
  'blk.0.attn_v.weight': [128, 256],
  'blk.0.attn_output.weight': [256, 256],
  'blk.0.ffn_gate.weight': [256, 256],
  'blk.0.ffn_up.weight': [256, 256],
  'blk.0.ffn_down.weight': [256, 256],
};
const dense: Readonly<Record<string, readonly number[]>> = {
  'token_embd.weight': [16, 256],
  'output.weight': [16, 256],
  'output_norm.weight': [256],
  'blk.0.attn_norm.weight': [256],
  'blk.0.ffn_norm.weight': [256],
};
const metadata = {
  'general.architecture': 'llama',
  'llama.block_count': 1,
  'llama.context_length': 64,
  'llama.embedding_length': 256,
  'llama.feed_forward_length': 256,
  'llama.attention.head_count': 4,
  'llama.attention.head_count_kv': 2,
  'llama.attention.layer_norm_rms_epsilon': 1e-5,
};

/** Byte of a block with the upper half of its f16 scale: 1 in most formats. */
const scaleBytes: Partial<Record<GgufFormat, number>> = { iq1_m: 55, tq1_0: 53, tq2_0: 65 };

/** Random blocks with scales below 2^-7. */
function someBlocks(format: GgufFormat, shape: readonly number[], seed: number): Uint8Array {
  const next = random(seed);
  const blocks = Uint8Array.from({ length: byteLength(format, shape) }, () => Math.floor(256 * next()));
  for (let at = scaleBytes[format] ?? 1; at < blocks.length; at += formats[format].blockBytes)
    blocks[at] = (format === 'iq1_m' ? blocks[at]! & 0x0f : 0) | 0x10;
  return blocks;
}

async function writeFiles(format: GgufFormat) {
  const [own, plain] = [scratch(`${format}.gguf`), scratch(`${format}-f32.gguf`)];
  const matrices = Object.entries(shapes).map(([name, shape], i) => ({
    name,
    shape,
    format,
    data: someBlocks(format, shape, i + 1),
  }));
  const others = Object.entries(dense).map(([name, shape]) => randomTensor(name, shape));
  await writeGguf(own, { metadata, tensors: [...matrices, ...others] });
  await rewriteGguf(own, plain, (tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    format: 'f32',
    data: decodedBytes(tensor),
  }));
  return { own, plain };
}

const ids = [1, 9, 4, 0, 15];

async function run(path: string, backend: Backend) {
  const notices: string[] = [];
  using model = await loadLanguageModel(await openModelFile(path), backend, {
    onNotice: (message) => notices.push(message),
  });
  return { logits: await sequenceLogits(model, ids), notices, bytes: model.weightBytes };
}

/** Without the reference, which does not read iq8. */
const backends = (await testedBackends()).filter(({ name }) => name !== 'reference');

describe.each(formatNames.filter(isIq8Source))('%s', (format) => {
  test('decoded to f32 on a backend with dense formats only', async () => {
    const { own, plain } = await writeFiles(format);
    using backend = await createReference();
    const { logits, notices } = await run(own, backend);
    expect(logits).toEqual((await run(plain, backend)).logits);
    expect(notices).toEqual([
      expect.stringMatching(/does not read \w+ natively: 7 tensors are decoded to f32,/),
    ]);
  });

  test.each(backends.map((backend) => [backend.name, backend] as const))(
    '%s computes with iq8',
    async (_, { open, slack, rounding }) => {
      const { own, plain } = await writeFiles(format);
      using backend = await open();
      const [got, want] = [await run(own, backend), await run(plain, backend)];
      const largest = Math.max(...want.logits.flat().map(Math.abs));
      expect(distance(got.logits, want.logits)).toBeLessThanOrEqual(
        slack * 1e-5 * largest + rounding.q8 * largest,
      );
      expect(got.notices).toEqual([expect.stringMatching(/are decoded to iq8, which takes/)]);
      expect(got.bytes).toBeLessThan(want.bytes / 3);
    },
  );
});
