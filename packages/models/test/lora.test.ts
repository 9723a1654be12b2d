import { rmSync } from 'node:fs';
import type { Backend } from '@quern/core';
import { inputBatch } from '@quern/core';
import {
  type Adapter,
  type AdapterStacks,
  type LanguageModel,
  llama,
  loadAdapters,
  loadLanguageModel,
  mapTensors,
  openAdapter,
  openModelFile,
  registerArchitecture,
} from '@quern/models';
import { merged, peftConfig, peftPairs, writeGgufAdapter, writePeft } from './adapter-files.js';
import { testedBackends } from './backends.js';
import {
  convertFolder,
  type Parameters,
  randomParameters,
  withLayers,
  writeFolder,
} from './random-folder.js';
import { cacheFor, distance, sequenceLogits } from './run-model.js';
import { phi3MiniConfig, phi3MiniParameters } from './tiny-phi.js';

const config = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 24,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  tie_word_embeddings: false,
};

const at = 'model.layers.{i}';
const matrices = {
  [`${at}.self_attn.q_proj.weight`]: [32, 32],
  [`${at}.self_attn.k_proj.weight`]: [16, 32],
  [`${at}.self_attn.v_proj.weight`]: [16, 32],
  [`${at}.self_attn.o_proj.weight`]: [32, 32],
  [`${at}.mlp.gate_proj.weight`]: [48, 32],
  [`${at}.mlp.up_proj.weight`]: [48, 32],
  [`${at}.mlp.down_proj.weight`]: [32, 48],
};
const others = {
  [`${at}.input_layernorm.weight`]: [32],
  [`${at}.post_attention_layernorm.weight`]: [32],
};
const ends = {
  'model.embed_tokens.weight': [24, 32],
  'model.norm.weight': [32],
  'lm_head.weight': [24, 32],
};

const parameters = randomParameters(withLayers(ends, { ...matrices, ...others }, 2), 0.25);
const whole = peftPairs(withLayers({}, matrices, 2), 4);
const [firstMatrix, secondMatrix] = Object.keys(matrices) as [string, string];
/** Two matrices of layer 1, rank 3. */
const small = peftPairs(
  {
    [firstMatrix.replace('{i}', '1')]: [32, 32],
    [secondMatrix.replace('{i}', '1')]: [16, 32],
  },
  3,
);

const ids = [3, 7, 1, 22, 9, 4, 15];
const path = writeFolder('base', config, parameters);
const base = await openModelFile(path);
const wholeAdapter = await openAdapter(writePeft('whole', whole), base);
const smallAdapter = await openAdapter(writePeft('small', small, { ...peftConfig, lora_alpha: 6 }), base);

async function truth(name: string, changed: Parameters, reference: Backend): Promise<number[][]> {
  using model = await loadLanguageModel(await openModelFile(writeFolder(name, config, changed)), reference);
  return await sequenceLogits(model, ids);
}

interface Use {
  readonly place: number;
  readonly scale: number;
}

/** The logits of `ids` for each sequence's adapters, all in one step: [S][T][V]. */
async function adaptedLogits(
  model: LanguageModel,
  { stacks }: AdapterStacks,
  uses: readonly (readonly Use[])[],
  tokens: readonly number[] = ids,
): Promise<number[][][]> {
  using cache = cacheFor(model, tokens.length, uses.length);
  const k = Math.max(...uses.map(({ length }) => length));
  const rows = uses.map(() => ({ sequence: cache.sequence(), rows: tokens.length }));
  for (const { sequence } of rows) sequence.append(tokens.length);
  using step = model.backend.step();
  const perRow = <T>(of: (use: Use | undefined) => T): T[] =>
    uses.flatMap((own) => tokens.flatMap(() => Array.from({ length: k }, (_, j) => of(own[j]))));
  const places = step.input(Int32Array.from(perRow((use) => use?.place ?? 0)));
  const scales = step.input(Float32Array.from(perRow((use) => use?.scale ?? 0)));
  const T = uses.length * tokens.length;
  const b = model.backend;
  const adapted = { stacks, places: b.view(places, [T, k]), scales: b.view(scales, [T, k]) };
  const batch = inputBatch(step, cache.describe(rows));
  const x = step.input(Int32Array.from(uses.flatMap(() => tokens)));
  const values = Array.from(await step.read(model.logits(model.parts[0]!.forward(x, batch, cache, adapted))));
  const V = model.config.vocabulary;
  return uses.map((_, s) =>
    tokens.map((_, t) => values.slice((s * tokens.length + t) * V, (s * tokens.length + t + 1) * V)),
  );
}

const backends = await testedBackends();

describe.each(backends)('adapters on $name', ({ open, slack }) => {
  let backend: Backend;
  let reference: Backend;
  beforeAll(async () => {
    backend = await open();
    reference = await backends[0]!.open();
  });
  afterAll(() => {
    backend.dispose();
    reference.dispose();
  });

  const close = 1e-4;

  test('each row of a step has the logits of a model with its adapters merged', async () => {
    using model = await loadLanguageModel(base, backend);
    const adapters = await loadAdapters(model.parts, [wholeAdapter, undefined, smallAdapter]);
    const [none, one, other, both, half] = (await adaptedLogits(model, adapters, [
      [],
      [{ place: 1, scale: wholeAdapter.scale }],
      [{ place: 3, scale: smallAdapter.scale }],
      [
        { place: 3, scale: smallAdapter.scale },
        { place: 1, scale: wholeAdapter.scale },
      ],
      [{ place: 1, scale: 0.5 * wholeAdapter.scale }],
    ])) as [number[][], number[][], number[][], number[][], number[][]];
    const withWhole = merged(parameters, whole, 2);
    const wanted = {
      none: await truth('none', parameters, reference),
      one: await truth('one', withWhole, reference),
      other: await truth('other', merged(parameters, small, 2), reference),
      both: await truth('both', merged(withWhole, small, 2), reference),
      half: await truth('half', merged(parameters, whole, 1), reference),
    };
    expect(distance(none, wanted.none)).toBeLessThan(slack * close);
    expect(distance(one, wanted.one)).toBeLessThan(slack * close);
    expect(distance(other, wanted.other)).toBeLessThan(slack * close);
    expect(distance(both, wanted.both)).toBeLessThan(slack * close);
    expect(distance(half, wanted.half)).toBeLessThan(slack * close);
    expect(distance(wanted.none, wanted.one)).toBeGreaterThan(0.1);
    expect(distance(wanted.one, wanted.both)).toBeGreaterThan(0.01);
    adapters.dispose();
  });

  test('PEFT and GGUF adapters change a GGUF Llama, whose rows of q and k have another order', async () => {
    const converted = await openModelFile(await convertFolder(path));
    using model = await loadLanguageModel(converted, backend);
    const peft = await openAdapter(writePeft('peft', whole), converted);
    const adapters = await loadAdapters(model.parts, [peft]);
    const [logits] = await adaptedLogits(model, adapters, [[{ place: 1, scale: peft.scale }]]);
    const wanted = await truth('one', merged(parameters, whole, 2), reference);
    expect(distance(logits!, wanted)).toBeLessThan(slack * close);
    adapters.dispose();
  });

  test('matrices that hold several parameters', async () => {
    const folder = writeFolder('phi', phi3MiniConfig, phi3MiniParameters);
    const phi = await openModelFile(folder);
    const fused = {
      'model.layers.0.self_attn.qkv_proj.weight': [128, 64],
      'model.layers.2.mlp.gate_up_proj.weight': [80, 64],
    };
    const pairs = peftPairs(fused, 2);
    const adapter = await openAdapter(writePeft('fused', pairs), phi);
    expect(adapter.pairs.map(({ layer, field }) => `${layer} ${field}`)).toEqual([
      ...['0 q', '0 k', '0 v', '2 gate', '2 up'],
    ]);
    using model = await loadLanguageModel(phi, backend);
    const adapters = await loadAdapters(model.parts, [adapter]);
    const tokens = ids.map((id) => id % 20);
    const [logits] = await adaptedLogits(model, adapters, [[{ place: 1, scale: adapter.scale }]], tokens);
    const changed = writeFolder('phi-merged', phi3MiniConfig, merged(phi3MiniParameters, pairs, 4));
    using whole = await loadLanguageModel(await openModelFile(changed), reference);
    expect(distance(logits!, await sequenceLogits(whole, tokens))).toBeLessThan(slack * close);
    adapters.dispose();
  });

  test('no bytes stay after dispose', async () => {
    using model = await loadLanguageModel(base, backend);
    const adapters: AdapterStacks = await loadAdapters(model.parts, [wholeAdapter]);
    expect(adapters.byteLength).toBeGreaterThanOrEqual(2 * wholeAdapter.byteLength);
    adapters.dispose();
    adapters.dispose();
    for (const { a, b } of adapters.stacks.values()) expect([a.disposed, b.disposed]).toEqual([true, true]);
  });
});

describe('files', () => {
  const qwen = writeFolder(
    'qwen',
    { ...config, architectures: ['Qwen3ForCausalLM'], model_type: 'qwen3', head_dim: 8 },
    new Map([
      ...parameters,
      ...randomParameters(
        withLayers({}, { [`${at}.self_attn.q_norm.weight`]: [8], [`${at}.self_attn.k_norm.weight`]: [8] }, 2),
      ),
    ]),
  );
  const rename = (module: string) =>
    module
      .replace('model.layers', 'blk')
      .replace(/self_attn\.([qkv])_proj/, 'attn_$1')
      .replace('self_attn.o_proj', 'attn_output')
      .replace(/mlp\.(\w+)_proj/, 'ffn_$1');

  test('a GGUF adapter has the values of the PEFT adapter', async () => {
    const model = await openModelFile(qwen);
    const gguf = await openAdapter(await writeGgufAdapter('adapter.gguf', whole, rename), model);
    const peft = await openAdapter(writePeft('same', whole), model);
    expect({ ...gguf, path: '' }).toEqual({ ...peft, path: '' } satisfies Adapter);
    expect(gguf).toMatchObject({ rank: 4, scale: 2 });
    expect(gguf.pairs).toHaveLength(14);
  });

  test('a GGUF adapter for Llama changes a Hugging Face folder', async () => {
    const model = await openModelFile(path);
    const converted = await openModelFile(await convertFolder(path));
    const peft = await openAdapter(writePeft('twice', whole), converted);
    const pairs = new Map(
      peft.pairs.flatMap(({ layer, field, a, b }) => {
        const name =
          { attnOutput: 'self_attn.o_proj' }[field] ??
          (/^[qkv]$/.test(field) ? `self_attn.${field}_proj` : `mlp.${field}_proj`);
        const values = ({ bytes, shape }: typeof a) => ({
          shape,
          values: new Float32Array(bytes.slice().buffer),
        });
        const module = `base_model.model.model.layers.${layer}.${name}`;
        return [
          [`${module}.lora_A.weight`, values(a)],
          [`${module}.lora_B.weight`, values(b)],
        ] as const;
      }),
    );
    const llama = { 'general.architecture': 'llama' };
    const gguf = await openAdapter(await writeGgufAdapter('llama.gguf', pairs, rename, llama), model);
    expect(gguf.pairs).toEqual(wholeAdapter.pairs);
  });

  test('rank-stabilised scales, and alphas of single modules', async () => {
    const model = await openModelFile(path);
    const stable = await openAdapter(writePeft('stable', whole, { ...peftConfig, use_rslora: true }), model);
    expect(stable.scale).toBe(4);
    const own = { ...peftConfig, alpha_pattern: { 'layers.0.self_attn.k_proj': 16 } };
    const { pairs, scale } = await openAdapter(writePeft('own', whole, own), model);
    expect(scale).toBe(2);
    expect(pairs.filter(({ factor }) => factor !== 1)).toMatchObject([{ layer: 0, field: 'k', factor: 2 }]);
  });

  const changed = (name: string, shape: readonly number[]): Parameters =>
    new Map([...whole, ...randomParameters({ [name]: shape })]);
  const q = 'base_model.model.model.layers.0.self_attn.q_proj';

  test.each([
    ['DoRA', whole, { use_dora: true }, /use_dora is true: DoRA/],
    ['another method', whole, { peft_type: 'IA3' }, /peft_type is "IA3"/],
    ['whole matrices', whole, { modules_to_save: ['lm_head'] }, /modules_to_save.*whole matrices/],
    ['biases', whole, { bias: 'lora_only' }, /bias is "lora_only"/],
    ['moved weights', whole, { init_lora_weights: 'pissa_niter_4' }, /init_lora_weights is "pissa_niter_4"/],
    ['no alpha', whole, { lora_alpha: undefined }, /lora_alpha is missing/],
    ['a regular expression', whole, { alpha_pattern: { '.*q_proj': 3 } }, /is a regular expression/],
    ['a vector', changed(`${q}.lora_magnitude_vector`, [32]), {}, /'.*lora_magnitude_vector' is no part/],
    ['half a pair', new Map([...whole].slice(1)), {}, /lacks its A/],
    ['another width', changed(`${q}.lora_A.weight`, [4, 31]), {}, /a matrix \[32, 31\].*another model/],
    ['ranks that differ', changed(`${q}.lora_A.weight`, [5, 32]), {}, /must have shapes A \[r, K\]/],
    ['no pair', new Map(), {}, /holds no low-rank pair/],
    [
      'the output matrix',
      peftPairs({ 'lm_head.weight': [24, 32] }, 2),
      {},
      /changes 'lm_head.weight', which Quern cannot adapt.*q_proj, k_proj/,
    ],
    [
      'a layer too many',
      peftPairs({ 'model.layers.2.mlp.up_proj.weight': [48, 32] }, 2),
      {},
      /cannot adapt in a model of architecture 'llama' with 2 layers/,
    ],
  ])('refuses %s', async (name, pairs, more, message) => {
    const folder = writePeft(`refused ${name}`, pairs, { ...peftConfig, ...more });
    await expect(openAdapter(folder, await openModelFile(path))).rejects.toThrow(message);
  });

  test('refuses models, other architectures and missing files', async () => {
    const model = await openModelFile(path);
    await expect(openAdapter(await convertFolder(path), model)).rejects.toThrow(/is a model, not an adapter/);
    const other = await writeGgufAdapter('other.gguf', whole, rename);
    await expect(openAdapter(other, model)).rejects.toThrow(
      /an adapter for 'qwen3', but the model is 'llama'/,
    );
    await expect(openAdapter('/nowhere', model)).rejects.toThrow(/there is no such adapter/);
    const folder = writePeft('without weights', whole);
    rmSync(`${folder}/adapter_model.safetensors`);
    await expect(openAdapter(folder, model)).rejects.toThrow(/adapter_model.safetensors/);
    const aborted = openAdapter(writePeft('aborted', whole), model, { signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
  });
});

test('names that the architecture renames: those of the model’s own files', async () => {
  const own = (name: string) => name.replace('model.layers.', 'transformer.h.');
  registerArchitecture({
    ...llama,
    name: 'renamed',
    names: { gguf: [], huggingFace: ['RenamedForCausalLM'] },
    rename: (file) =>
      mapTensors(file, (tensor) => [
        { ...tensor, name: tensor.name.replace('transformer.h.', 'model.layers.') },
      ]),
  });
  const underOwnNames = (all: Parameters): Parameters =>
    new Map(Array.from(all, ([name, tensor]) => [own(name), tensor]));
  const renamedConfig = { ...config, architectures: ['RenamedForCausalLM'] };
  const model = await openModelFile(writeFolder('renamed', renamedConfig, underOwnNames(parameters)));
  const adapter = await openAdapter(writePeft('renamed-adapter', underOwnNames(whole)), model);
  expect(adapter).toEqual({ ...wholeAdapter, path: adapter.path });
});

test('the error for another matrix lists matrices alone', async () => {
  const pairs = peftPairs({ 'model.layers.0.self_attn.gate.weight': [32, 32] }, 2);
  await expect(openAdapter(writePeft('other-matrix', pairs), base)).rejects.toThrow(
    /it adapts q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj of the layers$/,
  );
});
