import { mkdirSync, writeFileSync } from 'node:fs';
import type { MetadataInput } from '@quern/quant';
import { describeModel, ModelError, openModelFile, openSpeechModel } from '../src/index.js';
import { llamaTensors, randomTensor, scratch, writeLlama, writeZeros } from './model-files.js';

const refusal = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

const folder = (name: string): string => {
  mkdirSync(scratch(name), { recursive: true });
  return scratch(name);
};

const config = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 1,
  num_attention_heads: 4,
  vocab_size: 16,
};

/** A folder with a config.json and a safetensors file with one tensor. */
function huggingFaceFolder(name: string, json: object | string): string {
  const path = folder(name);
  writeFileSync(
    `${path}/config.json`,
    typeof json === 'string' ? json : JSON.stringify({ ...config, ...json }),
  );
  writeZeros(`${path}/model.safetensors`, { 'model.embed_tokens.weight': [16, 32] });
  return path;
}

describe('paths', () => {
  test('a missing path', async () => {
    await expect(openModelFile(scratch('nowhere.gguf'))).rejects.toEqual(
      refusal('NOT_FOUND', /nowhere\.gguf: there is no such/),
    );
  });

  test('a folder without a model: the error lists the files looked for', async () => {
    await expect(openModelFile(folder('empty'))).rejects.toEqual(
      refusal('NO_MODEL', /config\.json .*\.gguf/),
    );
  });

  test('a folder with two models: error; with one model, whole or split: opened', async () => {
    const path = folder('two');
    await writeLlama('two/a.gguf');
    expect((await openModelFile(path)).path).toBe(`${path}/a.gguf`);
    writeFileSync(`${path}/b-00002-of-00002.gguf`, '');
    expect((await openModelFile(path)).path).toBe(`${path}/a.gguf`);
    await writeLlama('two/c.gguf');
    await expect(openModelFile(path)).rejects.toEqual(refusal('AMBIGUOUS_MODEL', /a\.gguf, c\.gguf/));
  });

  test('safetensors without config.json', async () => {
    writeZeros(scratch('lonely.safetensors'), { a: [2] });
    await expect(openModelFile(scratch('lonely.safetensors'))).rejects.toEqual(
      refusal('NO_MODEL', /there is no .*config\.json/),
    );
  });

  test('a file that is not a model', async () => {
    writeFileSync(scratch('notes.txt'), 'milk, bread');
    await expect(openModelFile(scratch('notes.txt'))).rejects.toEqual(refusal('NOT_GGUF', /notes\.txt/));
  });
});

describe('architectures', () => {
  test('an unknown architecture: the error names it and the known ones', async () => {
    const path = await writeLlama('martian.gguf', { metadata: { 'general.architecture': 'martian' } });
    await expect(openModelFile(path)).rejects.toEqual(
      refusal('UNKNOWN_ARCHITECTURE', /'martian' is not known.*llama, qwen2, qwen3/),
    );
    const classifier = huggingFaceFolder('classifier', { architectures: ['LlamaForSequenceClassification'] });
    await expect(openModelFile(classifier)).rejects.toEqual(
      refusal('UNKNOWN_ARCHITECTURE', /LlamaForSequenceClassification/),
    );
  });
});

const whisperSizes = {
  architectures: ['WhisperForConditionalGeneration'],
  d_model: 8,
  vocab_size: 16,
  num_mel_bins: 80,
  encoder_layers: 1,
  encoder_attention_heads: 2,
  max_source_positions: 8,
  encoder_ffn_dim: 32,
  decoder_layers: 1,
  decoder_attention_heads: 2,
  max_target_positions: 8,
  decoder_ffn_dim: 32,
};

describe('configurations', () => {
  test.each<[string, Record<string, MetadataInput | undefined>, RegExp]>([
    [
      'missing',
      { 'llama.block_count': undefined },
      /llama\.block_count is missing; expected a whole number from 1/,
    ],
    ['of wrong type', { 'llama.embedding_length': 'wide' }, /llama\.embedding_length is "wide"/],
    ['zero', { 'llama.attention.head_count': 0 }, /head_count is 0/],
    ['absurd', { 'llama.block_count': 4_000_000_000 }, /block_count is 4000000000; expected .* to 10000/],
    ['above 2^53', { 'llama.context_length': 2n ** 63n }, /context_length is 9223372036854775808/],
    [
      'H not a multiple of Hk',
      { 'llama.attention.head_count_kv': 3 },
      /head_count_kv is 3; expected a divisor of .* 4/,
    ],
    [
      'D not divisible by H',
      { 'llama.attention.head_count': 5, 'llama.attention.head_count_kv': 5 },
      /head_count is 5.*width 32/,
    ],
    ['heads of odd size', { 'llama.attention.key_length': 7 }, /key_length is 7.*even/],
    ['negative eps', { 'llama.attention.layer_norm_rms_epsilon': -0.5 }, /layer_norm_rms_epsilon is -0.5/],
    ['an unknown scaling', { 'llama.rope.scaling.type': 'spiral' }, /scaling\.type is "spiral"/],
    [
      'kv heads that differ by layer',
      { 'llama.attention.head_count_kv': Int32Array.of(2, 4) },
      /head_count_kv is \[2,4\]/,
    ],
  ])('GGUF: %s', async (_name, metadata, message) => {
    await expect(writeLlama('bad.gguf', { metadata }).then((path) => openModelFile(path))).rejects.toEqual(
      refusal('BAD_CONFIG', message),
    );
  });

  test.each<[string, object | string, string, RegExp]>([
    ['not JSON', '{', 'BAD_CONFIG', /config\.json: is not JSON/],
    ['not an object', '[]', 'BAD_CONFIG', /must hold a JSON object/],
    [
      'a nested value',
      { rope_scaling: { type: 'linear', factor: 0 } },
      'BAD_CONFIG',
      /rope_scaling\.factor is 0/,
    ],
    [
      'bounds in wrong order',
      { rope_scaling: { type: 'llama3', factor: 2, low_freq_factor: 4, high_freq_factor: 1 } },
      'BAD_CONFIG',
      /high_freq_factor is 1/,
    ],
    [
      'LongRoPE without factors',
      { rope_scaling: { type: 'longrope' } },
      'BAD_CONFIG',
      /long_factor is missing/,
    ],
    [
      'bitsandbytes',
      { quantization_config: { quant_method: 'bitsandbytes' } },
      'UNSUPPORTED_CONFIG',
      /quant_method is "bitsandbytes"/,
    ],
    ['an unknown activation', { hidden_act: 'relu' }, 'UNSUPPORTED_CONFIG', /hidden_act is "relu"/],
  ])('config.json: %s', async (name, json, code, message) => {
    await expect(openModelFile(huggingFaceFolder(name.replaceAll(' ', '-'), json))).rejects.toEqual(
      refusal(code, message),
    );
  });

  const sizes = [
    'hidden_size',
    'num_hidden_layers',
    'num_attention_heads',
    'num_key_value_heads',
    'intermediate_size',
    'vocab_size',
    'max_position_embeddings',
  ];
  test.each(sizes)('config.json: an impossible %s is refused', async (key) => {
    for (const size of [2 ** 53, 2 ** 40, 1.5, -1, 0, '8', null, [8], true]) {
      const folder = huggingFaceFolder(`impossible-${key}`, { [key]: size });
      const outcome = await openModelFile(folder)
        .then((file) => describeModel(file))
        .catch((error: unknown) => error);
      expect([key, size, outcome]).toEqual([key, size, expect.any(ModelError)]);
    }
  });

  test.each(['d_model', 'encoder_layers', 'decoder_attention_heads', 'vocab_size', 'num_mel_bins'])(
    'Whisper’s config.json: an impossible %s is refused',
    async (key) => {
      for (const size of [2 ** 53, 2 ** 40, 1.5, -1, 0, '8']) {
        const folder = huggingFaceFolder(`whisper-${key}`, { ...whisperSizes, [key]: size });
        await expect(openSpeechModel(folder)).rejects.toMatchObject({ code: 'BAD_CONFIG' });
      }
    },
  );

  test('a mixture of experts without the number of experts per token', async () => {
    const path = await writeLlama('moe.gguf', { metadata: { 'llama.expert_count': 8 } });
    await expect(openModelFile(path)).rejects.toEqual(refusal('BAD_CONFIG', /expert_used_count is missing/));
  });

  test('rope_freqs of wrong length', async () => {
    const path = await writeLlama('freqs.gguf', {
      tensors: [...llamaTensors(), randomTensor('rope_freqs.weight', [3])],
    });
    await expect(openModelFile(path)).rejects.toEqual(refusal('BAD_CONFIG', /rope_freqs\.weight; it has 3/));
  });
});

describe('weights', () => {
  test('a missing tensor', async () => {
    const tensors = llamaTensors().filter(({ name }) => name !== 'blk.1.ffn_up.weight');
    const file = await openModelFile(await writeLlama('missing.gguf', { tensors }));
    expect(() => describeModel(file)).toThrow(
      refusal('MISSING_WEIGHT', /missing\.gguf: tensor 'blk\.1\.ffn_up\.weight' \[64,32\] is missing/),
    );
  });

  test('a tensor of wrong shape', async () => {
    const tensors = llamaTensors().map((tensor) =>
      tensor.name === 'blk.0.attn_k.weight' ? randomTensor(tensor.name, [32, 32]) : tensor,
    );
    const file = await openModelFile(await writeLlama('shape.gguf', { tensors }));
    expect(() => describeModel(file)).toThrow(
      refusal('BAD_WEIGHT_SHAPE', /'blk\.0\.attn_k\.weight' must have shape \[16,32\].*\[32,32\]/),
    );
  });

  test('a tensor in a format without arithmetic', async () => {
    const path = huggingFaceFolder('bytes', {});
    writeZeros(`${path}/model.safetensors`, { 'model.embed_tokens.weight': [16, 32] }, 'I8');
    const file = await openModelFile(path);
    expect(() => describeModel(file)).toThrow(
      refusal('UNKNOWN_FORMAT', /'model\.embed_tokens\.weight' is i8/),
    );
  });
});
