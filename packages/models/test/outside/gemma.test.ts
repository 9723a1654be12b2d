import { readFileSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import { loadLanguageModel, openModelFile, registerArchitecture } from '@quern/models';
import * as plain from '../plain/decoder.js';
import { convertFolder, randomParameters, withLayers, writeFolder } from '../random-folder.js';
import { distance, sequenceLogits } from '../run-model.js';
import { gemma } from './gemma.js';

registerArchitecture(gemma);

const [D, d, layers] = [16, 8, 2];
const config = {
  architectures: ['GemmaForCausalLM'],
  hidden_size: D,
  intermediate_size: 24,
  num_hidden_layers: layers,
  num_attention_heads: 3,
  num_key_value_heads: 1,
  head_dim: d,
  vocab_size: 10,
  hidden_act: 'gelu',
  hidden_activation: null,
};
const at = 'model.layers.{i}';
const parameters = randomParameters(
  withLayers(
    { 'model.embed_tokens.weight': [10, D], 'model.norm.weight': [D] },
    {
      [`${at}.input_layernorm.weight`]: [D],
      [`${at}.self_attn.q_proj.weight`]: [3 * d, D],
      [`${at}.self_attn.k_proj.weight`]: [d, D],
      [`${at}.self_attn.v_proj.weight`]: [d, D],
      [`${at}.self_attn.o_proj.weight`]: [D, 3 * d],
      [`${at}.post_attention_layernorm.weight`]: [D],
      [`${at}.mlp.gate_proj.weight`]: [24, D],
      [`${at}.mlp.up_proj.weight`]: [24, D],
      [`${at}.mlp.down_proj.weight`]: [D, 24],
    },
    layers,
  ),
  0.3,
);

/** The logits after each token, from the equations. */
function plainLogits(ids: readonly number[]): number[][] {
  const caches = plain.emptyCaches(layers);
  const times = (name: string, x: plain.Vector) => plain.times(parameters, `${name}.weight`, x);
  const norm = (name: string, x: plain.Vector) => {
    const w = plain.row(parameters, `${name}.weight`).map((value) => 1 + value);
    return plain.rmsNorm(x, w, 1e-6);
  };
  return ids.map((id, t) => {
    let x = plain.row(parameters, 'model.embed_tokens.weight', id).map((value) => value * Math.sqrt(D));
    for (const [layer, cache] of caches.entries()) {
      const p = `model.layers.${layer}`;
      const normed = norm(`${p}.input_layernorm`, x);
      const heads = (part: string) => plain.headsOf(times(`${p}.self_attn.${part}_proj`, normed), d);
      const rotated = (part: string) =>
        heads(part).map((head) => plain.rotate(head, t, { theta: 10_000, elements: d }));
      cache.keys.push(rotated('k'));
      cache.values.push(heads('v'));
      const attended = plain.attendAll(rotated('q'), cache, { scale: d ** -0.5, window: 0 });
      x = plain.add(x, times(`${p}.self_attn.o_proj`, attended));
      const inner = norm(`${p}.post_attention_layernorm`, x);
      const up = times(`${p}.mlp.up_proj`, inner);
      const gate = times(`${p}.mlp.gate_proj`, inner).map(plain.geluTanh);
      const fed = gate.map((value, i) => value * up[i]!);
      x = plain.add(x, times(`${p}.mlp.down_proj`, fed));
    }
    return times('model.embed_tokens', norm('model.norm', x));
  });
}

test('a third party’s architecture: the equations’ logits from both kinds of file', async () => {
  const ids = [3, 1, 4, 1, 5, 9];
  const expected = plainLogits(ids);
  const folder = writeFolder('outside-gemma', config, parameters);
  using backend = await createBackend();
  for (const path of [folder, await convertFolder(folder)]) {
    using model = await loadLanguageModel(await openModelFile(path), backend);
    expect(model.architecture).toBe('gemma');
    expect(distance(await sequenceLogits(model, ids, 4), expected)).toBeLessThan(1e-5);
  }
});

test('docs/writing-a-model.md shows gemma.ts unchanged', () => {
  const page = readFileSync(new URL('../../../../docs/writing-a-model.md', import.meta.url), 'utf8');
  const [, shown] = /^```ts gemma\.ts\n(.*?)^```$/ms.exec(page) ?? [];
  expect(shown).toBe(readFileSync(new URL('gemma.ts', import.meta.url), 'utf8'));
});
