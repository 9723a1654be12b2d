import { readFileSync, writeFileSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import { contiguousKvCache, inputBatch } from '@quern/core';
import { openGguf, openSafetensors, quantizeSource, writeGguf } from '@quern/quant';
import {
  loadWhisper,
  makeSyntheticSpeechModel,
  openSpeechModel,
  speechToGguf,
  type WhisperModel,
} from '../src/index.js';
import { decoderWeights, encoderWeights } from '../src/whisper/weights.js';
import { testedBackends } from './backends.js';
import { scratch } from './model-files.js';
import { floats, writeFolder } from './quantised-folders.js';
import { distance } from './run-model.js';
import { describeShared, readJson, shared } from './shared-data.js';

interface Goldens {
  /** [2][M][2n] */
  readonly mel_inputs: readonly (readonly (readonly number[])[])[];
  readonly dec_sequences: readonly (readonly number[])[];
  /** [2][n][D] */
  readonly enc_hidden: readonly (readonly (readonly number[])[])[];
  /** [2][T][V] */
  readonly logits: readonly (readonly (readonly number[])[])[];
}

const rowsOf = (values: ArrayLike<number>, width: number) =>
  Array.from({ length: values.length / width }, (_, t) =>
    Array.from({ length: width }, (_, i) => values[t * width + i]!),
  );

/** One window and one text in one step: the encoder's hidden states and the logits of every token. */
async function run(model: WhisperModel, mel: readonly (readonly number[])[], ids: readonly number[]) {
  const { backend, decoder, config } = model;
  const { layers, heads: kvHeads, headDim } = config.decoder;
  const cache = (context: number) =>
    contiguousKvCache(backend, { layers, kvHeads, headDim, dtype: 'f32', context, sequences: 1 });
  const n = config.encoder.context;
  using text = cache(config.decoder.context);
  using sound = cache(n);
  const sequence = text.sequence();
  sequence.append(ids.length);

  using step = backend.step();
  const frames = Float32Array.from(
    { length: mel.length * mel[0]!.length },
    (_, i) => mel[i % mel.length]![Math.floor(i / mel.length)]!,
  );
  const positions = step.input(Int32Array.from({ length: n }, (_, i) => i));
  const window = { positions, cuSeqlens: step.input(Int32Array.of(0, n)) };
  const encoded = model.encode(step.input(frames, [mel[0]!.length, mel.length]), window);
  decoder.listen(encoded, sound, positions);
  const batch = inputBatch(step, text.describe([{ sequence, rows: ids.length }]));
  const heard = {
    cuSeqlens: batch.cuSeqlens,
    kvLengths: step.input(Int32Array.of(n)),
    blockTable: step.input(Int32Array.of(0), [1, 1]),
  };
  const x = decoder.hidden(step.input(Int32Array.from(ids)), { text: batch, sound: heard }, { text, sound });
  const logits = decoder.logits(x);
  step.keep(encoded);
  await step.run();
  return {
    encoded: rowsOf(await step.read(encoded), config.width),
    logits: rowsOf(await step.read(logits), config.vocabulary),
  };
}

for (const { name: on, slack, open } of await testedBackends())
  describeShared('tiny-hf', `Whisper of transformers on ${on}`, () => {
    test('mel to hidden states to logits', async () => {
      using backend = await open();
      const file = await openSpeechModel(shared('tiny-hf', 'tiny_whisper.safetensors'), {
        config: shared('tiny-hf', 'tiny_whisper_config.json'),
      });
      using model = await loadWhisper(file, backend);
      const { mel_inputs, dec_sequences, enc_hidden, logits } = readJson(
        'tiny-hf',
        'tiny_whisper_logits.json',
      ) as Goldens;
      for (const [i, ids] of dec_sequences.entries()) {
        const got = await run(model, mel_inputs[i]!, ids);
        expect(distance(got.encoded, enc_hidden[i]!)).toBeLessThan(slack * 1e-5);
        expect(distance(got.logits, logits[i]!)).toBeLessThan(slack * 1e-5);
      }
    });
  });

/** The tiny model's sizes in whisper.cpp's header. */
const sizes = {
  n_vocab: 31,
  n_audio_ctx: 13,
  n_audio_state: 12,
  n_audio_head: 2,
  n_audio_layer: 2,
  n_text_ctx: 12,
  n_text_state: 12,
  n_text_head: 2,
  n_text_layer: 2,
  n_mels: 80,
};

/** The tiny model's tensors under whisper.cpp's names. Zeros widen the feed-forward to 4 · D. */
async function renamedTensors() {
  const { tensors } = await openSafetensors(shared('tiny-hf', 'tiny_whisper.safetensors'));
  const names = [encoderWeights, decoderWeights].flatMap(({ model, layer }) =>
    [...Object.values(model), ...Object.values(layer)].flatMap((entry) =>
      [0, 1].map((i) => [entry.huggingFace, entry.gguf].map((name) => name.replace('{i}', String(i)))),
    ),
  );
  const renamed = new Map(names as [string, string][]);
  return tensors.map(({ name, shape, path, offset, byteLength }) => {
    const values = new Float32Array(
      new Uint8Array(readFileSync(path).subarray(offset, offset + byteLength)).buffer,
    );
    return { name: renamed.get(name)!, original: name, ...widened(shape, values) };
  });
}

const [inner, widerInner] = [24, 48];

function widened(shape: readonly number[], values: Float32Array) {
  if (!shape.includes(inner)) return { shape, values };
  const wider = shape.map((size) => (size === inner ? widerInner : size));
  const [rows, columns] = [shape.length === 1 ? 1 : shape[0]!, shape.at(-1)!];
  const filled = new Float32Array(wider.reduce((product, size) => product * size, 1));
  for (let row = 0; row < rows; row++)
    filled.set(values.subarray(row * columns, (row + 1) * columns), row * wider.at(-1)!);
  return { shape: wider, values: filled };
}

type Renamed = Awaited<ReturnType<typeof renamedTensors>>;
const words = (...numbers: number[]) => Buffer.from(Uint32Array.from(numbers).buffer);

/** A whisper.cpp file without vocabulary. Biases of convolutions are columns there. */
function writeGgml(path: string, tensors: Renamed): void {
  const parts = tensors.map(({ name, shape, values }) => {
    const stored = /conv\d\.bias$/.test(name) ? [...shape, 1] : shape;
    const head = words(stored.length, name.length, 0, ...[...stored].reverse());
    return Buffer.concat([head, Buffer.from(name), Buffer.from(values.buffer)]);
  });
  writeFileSync(
    path,
    Buffer.concat([words(0x67676d6c, ...Object.values(sizes), 0), words(0, 0), words(0), ...parts]),
  );
}

const widerConfig = { encoder_ffn_dim: widerInner, decoder_ffn_dim: widerInner };

const huggingFaceNames = (tensors: Renamed) =>
  Object.fromEntries(tensors.map(({ original, shape, values }) => [original, floats(shape, values)]));

async function expectGoldens(path: string) {
  using backend = await createBackend();
  using model = await loadWhisper(await openSpeechModel(path), backend);
  const { mel_inputs, dec_sequences, logits } = readJson('tiny-hf', 'tiny_whisper_logits.json') as Goldens;
  const got = await run(model, mel_inputs[0]!, dec_sequences[0]!);
  expect(distance(got.logits, logits[0]!)).toBeLessThan(1e-5);
}

describeShared('tiny-hf', 'Whisper in other files', () => {
  test.each(['gguf', 'ggml'])('%s: the same logits', async (kind) => {
    const tensors = await renamedTensors();
    const path = scratch(`whisper.${kind}`);
    if (kind === 'ggml') writeGgml(path, tensors);
    else
      await writeGguf(path, {
        metadata: {
          'general.architecture': 'whisper',
          ...Object.fromEntries(Object.entries(sizes).map(([key, size]) => [`whisper.${key}`, size])),
        },
        tensors: tensors.map(({ name, shape, values }) => ({
          name,
          shape,
          format: 'f32',
          data: new Uint8Array(values.buffer),
        })),
      });
    expect((await openSpeechModel(path)).kind).toBe(kind);
    await expectGoldens(path);
  });

  test('a whisper.cpp file and a folder, converted to GGUF: the same logits', async () => {
    const tensors = await renamedTensors();
    writeGgml(scratch('whisper.bin'), tensors);
    const config = { ...readJson('tiny-hf', 'tiny_whisper_config.json'), ...widerConfig };
    const folder = writeFolder('whisper-folder', config, huggingFaceNames(tensors));
    for (const from of [scratch('whisper.bin'), folder]) {
      const source = await speechToGguf(await openSpeechModel(from));
      await quantizeSource(source, scratch('converted.gguf'), { mix: 'f32' });
      await expectGoldens(scratch('converted.gguf'));
    }
    const source = await speechToGguf(await openSpeechModel(folder));
    await quantizeSource(source, scratch('halves.gguf'), { mix: 'q8_0' });
    const formats = (await openGguf(scratch('halves.gguf'))).tensors.map(
      ({ name, format }) => [name, format] as const,
    );
    expect(Object.fromEntries(formats)).toMatchObject({
      'encoder.conv1.weight': 'f32',
      'decoder.positional_embedding': 'f32',
      'decoder.blocks.0.attn.query.weight': 'f16', // 12 elements per row: no block size divides them
    });
  });

  test('F ≠ 4 · D is refused', async () => {
    const file = await openSpeechModel(shared('tiny-hf', 'tiny_whisper.safetensors'), {
      config: shared('tiny-hf', 'tiny_whisper_config.json'),
    });
    await expect(speechToGguf(file)).rejects.toMatchObject({ code: 'UNSUPPORTED_CONFIG' });
  });

  test('a text model is refused', async () => {
    await expect(openSpeechModel(shared('tiny-hf', 'tiny_llama_f32.gguf'))).rejects.toMatchObject({
      code: 'WRONG_KIND',
      message: expect.stringContaining("'llama' is a language model"),
    });
  });
});

test.each([
  ['f32', 'f32', 'f32'],
  ['f16', 'f16', 'f16'],
  ['q8_0', 'f16', 'q8_0'],
] as const)(
  'a synthetic model in %s has convolutions in %s, like whisper.cpp',
  async (format, convolutions, matrices) => {
    const path = scratch(`synthetic-${format}.gguf`);
    await makeSyntheticSpeechModel(path, { shape: 'whisper-test', format });
    const formats = (await openGguf(path)).tensors.map((tensor) => [tensor.name, tensor.format] as const);
    expect(Object.fromEntries(formats)).toMatchObject({
      'encoder.conv1.weight': convolutions,
      'encoder.conv2.weight': convolutions,
      'encoder.positional_embedding': 'f32',
      'encoder.blocks.0.attn.query.weight': matrices,
    });
  },
);
