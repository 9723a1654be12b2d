// Memory of a step, known before loading: the step is recorded on a backend without a device.
import { referenceDriver } from '@quern/backend-reference';
import { type Backend, contiguousKvCache, defineBackend, inputBatch, rehearse } from '@quern/core';
import { type LanguageModel, loadLanguageModel, openModelFile } from '../src/index.js';
import { llamaTensors, writeLlama } from './model-files.js';
import { kvOptions } from './run-model.js';

const rows = 20;

function memoryOf(model: LanguageModel, backend: Backend) {
  const cache = contiguousKvCache(backend, { ...kvOptions(model.config, 32), sequences: 1 });
  const sequence = cache.sequence();
  sequence.append(rows);
  const step = backend.step();
  const batch = inputBatch(step, cache.describe([{ sequence, rows }]));
  model.forward(step.input(new Int32Array(rows)), batch, cache);
  return step.memory();
}

/** A reference backend that records the names of loaded weights. */
function watched() {
  const loaded: string[] = [];
  const driver = referenceDriver();
  const backend = defineBackend({
    ...driver,
    loadWeight(source) {
      loaded.push(source.name);
      return driver.loadWeight(source);
    },
  });
  return { backend, loaded };
}

test.each(['f32', 'bf16', 'q4_0'] as const)(
  'a rehearsal in %s: the model’s memory, without reading a weight',
  async (format) => {
    const file = await openModelFile(await writeLlama(`${format}.gguf`, { tensors: llamaTensors(format) }));
    const { backend, loaded } = watched();
    using rehearsal = rehearse(backend);
    const rehearsed = memoryOf(await loadLanguageModel(file, rehearsal), rehearsal);
    expect(loaded).toEqual([]);
    expect(rehearsed).toEqual(memoryOf(await loadLanguageModel(file, backend), backend));
    expect(rehearsed.arenaBytes).toBeGreaterThan(0);
  },
);
