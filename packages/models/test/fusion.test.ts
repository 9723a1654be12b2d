import { referenceDriver } from '@quern/backend-reference';
import {
  type Backend,
  defineBackend,
  type FusedOpName,
  fusedOps,
  inputBatch,
  type Kernel,
} from '@quern/core';
import { loadEncoder, loadLanguageModel, openEncoderFile, openModelFile } from '../src/index.js';
import { cacheFor } from './run-model.js';
import { describeShared, shared } from './shared-data.js';

/** A backend that claims every fused op. Its results do not matter: the tests count kernels. */
function fusingBackend(): Backend {
  const driver = referenceDriver();
  const forEachFused = <Value>(value: Value) =>
    Object.fromEntries(Object.keys(fusedOps).map((name) => [name, value])) as Record<FusedOpName, Value>;
  const nothing: Kernel = () => {};
  return defineBackend({
    ...driver,
    manifest: { ...driver.manifest, fused: forEachFused(driver.manifest.ops.linear) },
    kernels: { ...driver.kernels, ...forEachFused(nothing) },
  });
}

describeShared('tiny-hf', 'every fusion of core applies to the models', () => {
  test.each(['tiny_llama', 'tiny_qwen2', 'tiny_qwen3'])('%s', async (name) => {
    using backend = fusingBackend();
    const config = shared('tiny-hf', `${name}_config.json`);
    const file = await openModelFile(shared('tiny-hf', `${name}.safetensors`), { config });
    using model = await loadLanguageModel(file, backend);
    using cache = cacheFor(model, 16);
    const sequence = cache.sequence();
    sequence.append(3);
    using step = backend.step();
    const batch = inputBatch(step, cache.describe([{ sequence, rows: 3 }]));
    backend.argmax(model.forward(step.input(Int32Array.of(1, 2, 3)), batch, cache));
    await step.run();
    const { layers } = model.config;
    expect(backend.kernelRuns()).toEqual({
      embed: 1,
      ropeTable: 1,
      rmsNorm: 2, // the first norm, and the output norm: a gather separates it from its sum
      addRmsNorm: 2 * layers - 1,
      add: 1,
      qkvLinear: layers,
      qkNormRopeAppend: layers,
      attention: layers,
      gateUpSwiglu: layers,
      linear: 2 * layers, // attention's output, feed-forward's down
      gatherRows: 1,
      linearArgmax: 1,
    });
  });

  test('tiny_bert', async () => {
    using backend = fusingBackend();
    const config = shared('tiny-hf', 'tiny_bert_config.json');
    const file = await openEncoderFile(shared('tiny-hf', 'tiny_bert.safetensors'), { config });
    using model = await loadEncoder(file, backend);
    using step = backend.step();
    model.hidden(step, [{ ids: [1, 2, 3] }]);
    await step.run();
    const { layers } = model.config;
    expect(backend.kernelRuns()).toEqual({
      embed: 3, // tokens, positions, segments
      add: 1,
      addLayerNorm: 2 * layers + 1,
      qkvLinear: layers,
      uncachedAttention: layers,
      linear: 2 * layers, // attention's output, feed-forward's down
      biasGelu: layers,
    });
  });
});
