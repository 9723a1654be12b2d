import { contiguousKvCache, inputBatch } from '@quern/core';
import { loadWhisper, openSpeechModel, type WhisperModel } from '../src/index.js';
import { testedBackends } from './backends.js';
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

/** One window and one text, in a single step: the encoder's hidden states and the logits of every token. */
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
