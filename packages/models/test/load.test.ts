import { createBackend } from '@quern/backend-reference';
import type { Backend, Weight, WeightSource } from '@quern/core';
import { describeModel, loadLanguageModel, openModelFile, rangeCost } from '../src/index.js';
import { llamaTensors, randomTensor, writeLlama } from './model-files.js';

/** The reference backend, recording loads; it claims the formats of `native`, but cannot compute with them. */
async function observed(
  native: readonly string[] = [],
): Promise<{ backend: Backend; loaded: Weight[]; sources: WeightSource[]; live: () => number }> {
  const reference = await createBackend();
  const loaded: Weight[] = [];
  const sources: WeightSource[] = [];
  const backend: Backend = Object.create(reference, {
    quantGguf: { value: { formats: new Set(native) } },
    loadWeight: {
      value: async (source: WeightSource) => {
        sources.push(source);
        const weight = await reference.loadWeight(source);
        loaded.push(weight);
        return weight;
      },
    },
  });
  return { backend, loaded, sources, live: () => loaded.filter(({ disposed }) => !disposed).length };
}

const tensorCount = llamaTensors().length;

test('progress ends at the file’s bytes; dispose frees all weights', async () => {
  const { backend, live } = await observed();
  const file = await openModelFile(await writeLlama('progress.gguf'));
  const steps: number[] = [];
  const totals = new Set<number>();
  const model = await loadLanguageModel(file, backend, {
    onProgress({ done, total }) {
      steps.push(done);
      totals.add(total);
    },
    onNotice: (message) => expect(message).toBe('nothing to say'),
  });
  expect(steps).toHaveLength(tensorCount);
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  expect([...totals]).toEqual([steps.at(-1)]);
  expect(live()).toBe(tensorCount);
  model.dispose();
  model.dispose();
  expect(live()).toBe(0);
});

test.each([
  [
    ['blk.0.attn_sinks.weight', 'mtp.proj.weight'],
    /2 tensors are not part of .* not read: .*: blk\.0\.attn_sinks\.weight, mtp\.proj\.weight$/,
  ],
  [['mtp.proj.weight'], /1 tensor is not part of .* not read: .*: mtp\.proj\.weight$/],
])(
  'tensors that no entry reads: a notice at loading, listed by the description: %j',
  async (names, notice) => {
    const { backend } = await observed();
    const extra = names.map((name) => randomTensor(name, [4]));
    const known = randomTensor('rope_freqs.weight', [4]);
    const data = new Uint8Array(Float32Array.of(1, 1, 1, 1).buffer);
    const path = await writeLlama('extra.gguf', {
      tensors: [...llamaTensors(), ...extra, { ...known, data }],
    });
    const file = await openModelFile(path);
    const notices: string[] = [];
    (await loadLanguageModel(file, backend, { onNotice: (text) => notices.push(text) })).dispose();
    expect(notices).toEqual([expect.stringMatching(notice)]);
    expect(describeModel(file).unread).toEqual(extra.map(({ name }) => name));
  },
);

test('more layers than the file counts: refused with both numbers', async () => {
  const more = randomTensor('blk.7.attn_norm.weight', [32]);
  const path = await writeLlama('layers.gguf', { tensors: [...llamaTensors(), more] });
  await expect(openModelFile(path)).rejects.toThrow(
    expect.objectContaining({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(
        /llama\.block_count is 2; expected at least 8, .*'blk\.7\.attn_norm\.weight'/,
      ),
    }),
  );
});

test('an abort during loading frees all weights', async () => {
  const { backend, loaded, live } = await observed();
  const file = await openModelFile(await writeLlama('abort.gguf'));
  const controller = new AbortController();
  const onProgress = () => {
    if (loaded.length > 3) controller.abort('enough');
  };
  const loading = loadLanguageModel(file, backend, { signal: controller.signal, onProgress });
  await expect(loading).rejects.toEqual(expect.objectContaining({ code: 'ABORTED', cause: 'enough' }));
  expect(loaded.length).toBeGreaterThan(3);
  expect(loaded.length).toBeLessThan(tensorCount);
  expect(live()).toBe(0);
});

test('a failure during loading frees all weights', async () => {
  const { backend, loaded, live } = await observed(['q8_0']); // claimed; the reference driver cannot load it
  const file = await openModelFile(
    await writeLlama('fail.gguf', {
      tensors: [...llamaTensors().slice(0, -1), ...llamaTensors('q8_0').slice(-1)],
    }),
  );
  await expect(loadLanguageModel(file, backend)).rejects.toEqual(
    expect.objectContaining({ code: 'UNSUPPORTED' }),
  );
  expect(loaded.length).toBeGreaterThan(0);
  expect(live()).toBe(0);
});

test('a description counts the bytes on a backend', async () => {
  const file = await openModelFile(await writeLlama('q8.gguf', { tensors: llamaTensors('q8_0') }));
  const plain = await observed();
  const native = await observed(['q8_0']);
  const [asFile, decoded, asStored] = [
    describeModel(file),
    describeModel(file, plain.backend),
    describeModel(file, native.backend),
  ];
  expect(asStored).toEqual(asFile);
  expect(asFile.parameters).toBe(2 * 512 + 5 * 32 + 2 * (3 * 2048 + 2 * 1024 + 2 * 512));
  expect(decoded.weightBytes).toBe(4 * decoded.parameters);
  const { layers, embed, logits, both } = asFile.costs;
  expect(asFile.weightBytes).toBe([...layers, embed, logits].reduce((sum, { bytes }) => sum + bytes, 0));
  expect(both.bytes).toBe(0);
  expect(embed).toEqual({ bytes: (512 / 32) * 34, perToken: 0, active: 0, inBlocks: 0 });
  const halves = [rangeCost(asFile.costs, { from: 0, to: 1 }), rangeCost(asFile.costs, { from: 1, to: 2 })];
  expect(halves[0]!.bytes + halves[1]!.bytes).toBe(asFile.weightBytes);
  expect(halves[0]!.perToken + halves[1]!.perToken).toBe(asFile.bytesPerToken);
  const inBlocks = (description: typeof asFile) => rangeCost(description.costs, { from: 0, to: 2 }).inBlocks;
  expect([inBlocks(asFile), inBlocks(decoded)]).toEqual([asFile.parameters - 160 - 512, 0]); // 160 of norms, 512 of `embed` alone
  expect([asFile.decoded, decoded.decoded, asStored.decoded]).toEqual([[], ['q8_0'], []]);
  expect(asFile.bytesPerToken).toBe(asFile.weightBytes - (512 / 32) * 34);
  expect(asFile.formats).toEqual([{ format: 'q8_0', bytes: ((asFile.parameters - 160) / 32) * 34 }]);
  using model = await loadLanguageModel(file, plain.backend);
  expect(model.weightBytes).toBe(decoded.weightBytes);
});

test('each weight is loaded with its uses', async () => {
  const { backend, sources } = await observed();
  (await loadLanguageModel(await openModelFile(await writeLlama('uses.gguf')), backend)).dispose();
  const uses = Object.fromEntries(sources.map(({ name, uses: of }) => [name, of?.join(' ')]));
  expect(uses).toMatchObject({
    'token_embd.weight': 'embed',
    'output.weight': 'row',
    'output_norm.weight': '',
    'blk.0.attn_q.weight': 'row rows',
    'blk.0.ffn_norm.weight': '',
  });
  expect(Object.values(uses)).not.toContain(undefined);
});
