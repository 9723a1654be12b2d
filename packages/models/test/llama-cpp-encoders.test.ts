// Texts in: every family that embeds or ranks against llama.cpp's hidden states, pooled rows and labels in f32: tiny random
// files, one folder each (../shared/data/llamacpp-arch).
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend, Step, Tensor } from '@quern/core';
import { quantizeSource } from '@quern/quant';
import {
  describeEncoder,
  type EncoderFile,
  type EncoderModel,
  encoderToGguf,
  loadEncoder,
  openEncoderFile,
} from '../src/index.js';
import type { FileTensor } from '../src/weights/file-tensor.js';
import { resolveWeights } from '../src/weights/resolve-weights.js';
import { isConstant } from '../src/weights/weight-file.js';
import { type Parameters, writeFolder, writeSafetensors } from './random-folder.js';
import { readJson, shared } from './shared-data.js';
import { valuesOf } from './stored-values.js';

const at = (folder: string, ...file: string[]) => shared('llamacpp-arch', folder, ...file);

interface Case {
  /** Its embd-K.f32 are rows behind the matrices that follow the pooling. */
  readonly noHidden?: true;
  /** Labels, not a pooled row. */
  readonly ranks?: true;
}

const folders: Readonly<Record<string, Case>> = {
  'qwen3-embedding': {},
  'qwen3-embedding-q8_0': {},
  'qwen3-rerank': { ranks: true },
  eurobert: {},
  'gemma-embedding': { noHidden: true },
  'jina-bert-v3': {},
  'nomic-bert-moe': {},
  'modern-bert': {},
  'bert-rerank': { ranks: true },
};

function floats(folder: string, file: string): Float32Array {
  const { buffer, byteOffset, byteLength } = readFileSync(at(folder, file));
  return new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
}

/** The largest difference, relative to the largest value. */
function error(values: ArrayLike<number>, wanted: Float32Array): number {
  if (values.length !== wanted.length) return Number.POSITIVE_INFINITY;
  const largest = Math.max(...wanted.map(Math.abs));
  return Math.max(...wanted.map((value, i) => Math.abs(value - values[i]!))) / largest;
}

const backends: Readonly<Record<string, () => Promise<Backend>>> = {
  reference: createReference,
  cpu: () => createCpu({ precision: 'exact' }),
};

async function read(model: EncoderModel, record: (step: Step) => Tensor): Promise<Float32Array> {
  using step = model.backend.step();
  return Float32Array.from((await step.read(record(step))) as Float32Array);
}

/** llama.cpp gives one label as its logit, and yes and no as probabilities. */
const labels = (logit: number, count: number): number[] => {
  const yes = 1 / (1 + Math.exp(-logit));
  return count === 1 ? [logit] : [yes, 1 - yes];
};

describe.each(Object.entries(folders))('%s', (folder, { ranks, noHidden }) => {
  if (!existsSync(at(folder))) {
    test.skip(`../shared/data/llamacpp-arch/${folder} is absent`, () => {});
    return;
  }
  const sequences: number[][] = readJson('llamacpp-arch', folder, 'ids.json');

  test.each(Object.keys(backends))(
    'llama.cpp’s numbers on %s, alone and in one batch',
    async (name) => {
      using backend = await backends[name]!();
      const file = await openEncoderFile(at(folder, 'model.gguf'));
      const asThere = { ...file, config: { ...file.config, gelu: 'tanh' as const } }; // llama.cpp has no other gelu
      using model = await loadEncoder(asThere, backend, {}, { normalise: false });
      const texts = sequences.map((ids) => ({ ids }));
      for (const [s, text] of texts.entries()) {
        const hidden = await read(model, (step) => model.hidden(step, [text]));
        if (!noHidden) expect(error(hidden, floats(folder, `embd-${s}.f32`))).toBeLessThan(1e-4);
        const pooled = floats(folder, `pooled-${s}.f32`);
        const one = await read(model, (step) =>
          ranks ? model.classify(step, [text]) : model.embed(step, [text]),
        );
        expect(error(ranks ? labels(one[0]!, pooled.length) : one, pooled)).toBeLessThan(1e-4);
        const all = await read(model, (step) =>
          ranks ? model.classify(step, texts) : model.embed(step, texts),
        );
        const width = all.length / texts.length;
        expect(error(all.subarray(s * width, (s + 1) * width), one)).toBe(0);
      }
    },
    60_000,
  );
});

const small = { hidden_size: 64, num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 264 };
const qwen3 = {
  ...{ ...small, architectures: ['Qwen3ForCausalLM'], intermediate_size: 96, num_hidden_layers: 3 },
  ...{ head_dim: 16, rms_norm_eps: 1e-6, rope_theta: 1e6, tie_word_embeddings: true },
};
const modules = (...types: string[]) =>
  types.map((type, i) => ({
    type: `sentence_transformers.models.${type}`,
    path: i > 0 ? `${i}_${type}` : '',
  }));
const dense = { bias: false, activation_function: 'torch.nn.modules.linear.Identity' };

interface Folder {
  readonly golden?: string;
  readonly config: object;
  /** Files beside config.json. */
  readonly files: Readonly<Record<string, unknown>>;
  /** Tensors of the folder; default: under the names of the table, without the prefix of a class with a head. */
  layout?(all: Parameters): Parameters;
  /** It has no GGUF form. */
  readonly notConverted?: true;
}

const without = (prefix: string, all: Parameters): Parameters =>
  new Map([...all].map(([name, tensor]) => [name.replace(prefix, ''), tensor]));

/** An output projection whose rows 5 and 9 are those of yes and no. */
function answering(all: Parameters): Parameters {
  const { shape, values } = all.get('model.embed_tokens.weight')!;
  const output = values.map((value) => 0.5 * value);
  const width = shape[1]!;
  output.set(all.get('cls.yes.weight')!.values, 5 * width);
  output.set(all.get('cls.no.weight')!.values, 9 * width);
  return new Map(
    [...all, ['lm_head.weight', { shape, values: output }] as const].filter(
      ([name]) => !name.startsWith('cls.'),
    ),
  );
}

/** Parts of a fused tensor, in their order. */
function fused(all: Parameters): Parameters {
  const result = new Map<string, { shape: readonly number[]; values: Float32Array<ArrayBuffer> }>();
  for (const [part, { shape, values }] of all) {
    const name = part.replace(/(Wqkv|Wi)\.\w+\.weight$/, '$1.weight');
    const before = result.get(name);
    const joined = Float32Array.from([...(before?.values ?? []), ...values]);
    result.set(name, { shape: [(before?.shape[0] ?? 0) + shape[0]!, ...shape.slice(1)], values: joined });
  }
  return result;
}

const huggingFace: Readonly<Record<string, Folder>> = {
  'qwen3-embedding': {
    config: qwen3,
    files: {
      'modules.json': modules('Transformer', 'Pooling', 'Normalize'),
      '1_Pooling/config.json': { pooling_mode_lasttoken: true, pooling_mode_mean_tokens: false },
    },
  },
  'qwen3-rerank, by LogitScore': {
    golden: 'qwen3-rerank',
    config: { ...qwen3, tie_word_embeddings: false },
    files: {
      'modules.json': modules('Transformer', 'LogitScore'),
      '1_LogitScore/config.json': { true_token_id: 5, false_token_id: 9 },
    },
    layout: answering,
  },
  'qwen3-rerank, by its name': {
    golden: 'qwen3-rerank',
    config: { ...qwen3, tie_word_embeddings: false },
    files: { 'README.md': '# Qwen3-Reranker-0.6B', 'vocab.json': { no: 9, yes: 5 } },
    layout: answering,
  },
  eurobert: {
    config: {
      ...{ ...small, architectures: ['EuroBertModel'], intermediate_size: 96, num_hidden_layers: 3 },
      ...{ rms_norm_eps: 1e-5, rope_theta: 250_000 },
    },
    files: {},
  },
  'gemma-embedding': {
    config: {
      ...{ ...small, architectures: ['Gemma3TextModel'], num_key_value_heads: 1, intermediate_size: 96 },
      ...{ num_hidden_layers: 4, head_dim: 32, query_pre_attn_scalar: 32, rms_norm_eps: 1e-6 },
      ...{ rope_theta: 1e6, rope_local_base_freq: 1e4, sliding_window: 16, sliding_window_pattern: 2 },
      ...{ hidden_activation: 'gelu_pytorch_tanh', use_bidirectional_attention: true },
    },
    files: {
      'modules.json': modules('Transformer', 'Pooling', 'Dense', 'Dense', 'Normalize'),
      '1_Pooling/config.json': { pooling_mode_mean_tokens: true },
      '2_Dense/config.json': dense,
      '3_Dense/config.json': dense,
    },
  },
  'modern-bert': {
    config: {
      ...{ ...small, architectures: ['ModernBertModel'], intermediate_size: 96, num_hidden_layers: 4 },
      ...{ norm_eps: 1e-5, global_rope_theta: 160_000, local_rope_theta: 10_000, local_attention: 16 },
      ...{ global_attn_every_n_layers: 3, hidden_activation: 'gelu_pytorch_tanh' },
    },
    files: { '1_Pooling/config.json': { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false } },
    layout: fused,
    notConverted: true,
  },
};

/** The weights of a GGUF file under the names of Hugging Face, as its files have them. */
async function asHuggingFace(folder: string): Promise<Parameters> {
  const { architecture, config, weights } = await openEncoderFile(at(folder, 'model.gguf'));
  const resolved = resolveWeights(architecture.weights, config, weights);
  return new Map(
    resolved
      .filter(({ tensor }) => !isConstant(tensor))
      .map(({ field, layer, tensor }) => {
        const { model, layer: ofLayer } = architecture.weights;
        const { huggingFace: name, huggingFacePlus: plus = 0 } = (layer === undefined ? model : ofLayer)[
          field
        ]!;
        const values = valuesOf(tensor as FileTensor).map((value) => value - plus);
        return [name.replace('{i}', String(layer)), { shape: tensor.shape, values }];
      }),
  );
}

async function folderOf(name: string, { golden = name, config, files, layout }: Folder): Promise<string> {
  const parameters = await asHuggingFace(golden);
  const path = writeFolder(
    `encoder-${name}`,
    { max_position_embeddings: 512, ...config },
    layout?.(parameters) ?? without('model.', parameters),
  );
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(join(path, file, '..'), { recursive: true });
    writeFileSync(join(path, file), typeof content === 'string' ? content : JSON.stringify(content));
  }
  if (name !== 'gemma-embedding') return path;
  const { weights } = await openEncoderFile(at(golden, 'model.gguf'));
  for (const n of [2, 3]) {
    const matrix = weights.tensors.get(`dense_${n}.weight`)!;
    const { shape } = matrix;
    const tensors = new Map([['linear.weight', { shape, values: valuesOf(matrix) }]]);
    writeSafetensors(join(path, `${n}_Dense`, 'model.safetensors'), tensors);
  }
  return path;
}

/** The largest error of both texts. */
async function pooledError(file: EncoderFile, folder: string): Promise<number> {
  using backend = await createReference();
  using model = await loadEncoder(file, backend, {}, { normalise: false });
  const errors = [];
  for (const [s, ids] of (readJson('llamacpp-arch', folder, 'ids.json') as number[][]).entries()) {
    const pooled = floats(folder, `pooled-${s}.f32`);
    const ranks = file.config.labels > 0;
    const one = await read(model, (step) => model[ranks ? 'classify' : 'embed'](step, [{ ids }]));
    errors.push(error(ranks ? labels(one[0]!, pooled.length) : one, pooled));
  }
  return Math.max(...errors);
}

describe.each(Object.entries(huggingFace))('%s as a Hugging Face folder', (name, folder) => {
  const golden = folder.golden ?? name;
  if (!existsSync(at(golden))) {
    test.skip(`../shared/data/llamacpp-arch/${golden} is absent`, () => {});
    return;
  }
  test('the same numbers, also converted to GGUF', async () => {
    const path = await folderOf(name, folder);
    const file = await openEncoderFile(path);
    expect(file.embeds).toBe(true);
    expect(describeEncoder(file).unread.filter((tensor) => tensor !== 'lm_head.weight')).toEqual([]);
    expect(await pooledError(file, golden)).toBeLessThan(1e-4);
    if (file.kind !== 'huggingFace') throw new Error(`${path} opened as GGUF`);
    if (folder.notConverted) {
      await expect(encoderToGguf(file)).rejects.toMatchObject({ code: 'UNSUPPORTED_CONFIG' });
      return;
    }
    await quantizeSource(await encoderToGguf(file), `${path}.gguf`, { mix: 'f32' });
    const converted = await openEncoderFile(`${path}.gguf`);
    expect([converted.embeds, converted.template]).toEqual([true, file.template]);
    expect(await pooledError(converted, golden)).toBeLessThan(1e-4);
  }, 60_000);
});
