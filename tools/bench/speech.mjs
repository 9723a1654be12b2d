// How fast a Whisper of true shape is on this machine, stage by stage: random weights, real costs.
//
//   node tools/bench/speech.mjs [--shapes whisper-tiny,whisper-base] [--formats f16,q8_0] [--seconds 11] [--repeat 5] [--threads n]
//
// Prints the median of each stage; the share of the machine's measured peak that the encoder reaches; and the longest turn of
// the event loop while all that ran.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { findBackend, loadSpeechModel, makeSyntheticSpeechModel } from '../../packages/runtime/dist/index.js';

const { values } = parseArgs({
  options: {
    shapes: { type: 'string', default: 'whisper-tiny,whisper-base' },
    formats: { type: 'string', default: 'f16,q8_0' },
    seconds: { type: 'string', default: '11' },
    repeat: { type: 'string', default: '5' },
    threads: { type: 'string' },
  },
});
const [seconds, repeat] = [Number(values.seconds), Number(values.repeat)];

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

/** A tone that rises and falls: windows differ. */
const sound = {
  sampleRate: 16_000,
  samples: Float32Array.from(
    { length: seconds * 16_000 },
    (_, i) => 0.3 * Math.sin(i / 20 + 8 * Math.sin(i / 3000)),
  ),
};

/** Multiplications and additions of the encoder for one window. */
function encoderFlops({ encoder: { layers, width, feedForward, context, melBands } }) {
  const layer = 2 * context * (4 * width * width + 2 * width * feedForward) + 4 * context * context * width;
  return layers * layer + 2 * context * 3 * width * (2 * melBands + width);
}

async function measure(model) {
  const options = { language: 'en', temperatures: [0], noSpeechThreshold: 1 };
  await model.transcribe(sound, options).result;
  const results = [];
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  for (let i = 0; i < repeat; i++) results.push((await model.transcribe(sound, options).result).stages);
  loop.disable();
  const stage = (name) => median(results.map((stages) => stages[name]));
  return {
    mel: stage('melMs'),
    encode: median(results.map(({ encodeMs, windows }) => encodeMs / windows)),
    perToken: median(results.map(({ decodeMs, tokens }) => decodeMs / tokens)),
    tokens: results[0].tokens,
    longestTurn: loop.max / 1e6,
  };
}

const folder = mkdtempSync(join(tmpdir(), 'quern-speech-'));
try {
  const { backend } = await findBackend('cpu', values.threads ? { threads: Number(values.threads) } : {});
  const { name, isa, threads, flops } = backend.profile;
  console.log(`${name}, ${isa}, ${threads} threads, ${(flops / 1e9).toFixed(0)} GFLOPS measured`);
  console.log(
    '| model | format | log-mel, ms | encoder, ms a window | GFLOPS | decoding, ms a token | tokens | longest turn, ms |',
  );
  console.log('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const shape of values.shapes.split(','))
    for (const format of values.formats.split(',')) {
      const path = join(folder, `${shape}-${format}.gguf`);
      await makeSyntheticSpeechModel(path, { shape, format });
      const model = await loadSpeechModel(path, { backend });
      const { mel, encode, perToken, tokens, longestTurn } = await measure(model);
      const rate = encoderFlops(model.config) / encode / 1e6;
      model.dispose();
      const cells = [mel, encode, rate, perToken].map((value) => value.toFixed(value < 10 ? 2 : 0));
      console.log(
        `| ${[shape, format, ...cells.slice(0, 3), cells[3], tokens, longestTurn.toFixed(1)].join(' | ')} |`,
      );
      rmSync(path);
    }
  backend.dispose();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
