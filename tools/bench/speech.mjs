// Whisper, compared with whisper.cpp: same weights, shapes and threads, in turns.
//
//   node speech.mjs [--shapes whisper-tiny,whisper-base] [--formats f16,q8_0] [--threads 2] [--repeat 3] [--peer node_modules]
//                   [--program whisper-bench]
//
// Random weights, real costs: the encoder computes one window of 30 s, the decoder about 220 tokens one by one. Peers:
// the prebuilt whisper.cpp of @fugood/whisper.node with its own benchmark, if --peer has it; the benchmark of a
// whisper.cpp built for this machine (examples/bench), with --program. Without peers, only Quern is measured.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { findBackend, loadSpeechModel, makeSyntheticSpeechModel } from '../../packages/runtime/dist/index.js';
import { writeGgml } from './ggml-file.mjs';
import { median } from './statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    shapes: { type: 'string', default: 'whisper-tiny,whisper-base' },
    formats: { type: 'string', default: 'f16,q8_0' },
    threads: { type: 'string', default: '2' },
    repeat: { type: 'string', default: '3' },
    peer: { type: 'string', default: 'node_modules' },
    program: { type: 'string' },
  },
});

/** One window: a tone with rising and falling pitch. */
const sound = {
  sampleRate: 16_000,
  samples: Float32Array.from({ length: 480_000 }, (_, i) => 0.3 * Math.sin(i / 20 + 8 * Math.sin(i / 3000))),
};
const options = { language: 'en', temperatures: [0], noSpeechThreshold: 1 };

/** Multiplications and additions of the encoder per window. */
function encoderFlops({ encoder: { layers, width, feedForward, context, melBands } }) {
  const layer = 2 * context * (4 * width * width + 2 * width * feedForward) + 4 * context * context * width;
  return layers * layer + 2 * context * 3 * width * (2 * melBands + width);
}

const run = promisify(execFile);

/** Milliseconds per window and per token, as measured by whisper.cpp. */
const peers = {
  'prebuilt whisper.cpp': {
    there: existsSync(join(resolve(flags.peer), '@fugood/whisper.node')),
    async measure(file) {
      const script = fileURLToPath(new URL('whisper-process.mjs', import.meta.url));
      const { stdout } = await run(process.execPath, [script, resolve(flags.peer), file, flags.threads]);
      return JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1));
    },
  },
  'whisper.cpp built here': {
    there: flags.program !== undefined,
    async measure(file) {
      const { stdout, stderr } = await run(flags.program, ['-m', file, '-t', flags.threads]);
      const perRun = (stage) =>
        Number(new RegExp(`${stage} time = .*\\( *([\\d.]+) ms per run`).exec(stdout + stderr)[1]);
      return { encode: perRun('encode'), token: perRun('decode') };
    },
  },
};

async function measureQuern(model) {
  const { stages } = await model.transcribe(sound, options).result;
  return {
    mel: stages.melMs,
    encode: stages.encodeMs / stages.windows,
    token: stages.decodeMs / stages.tokens,
  };
}

/** Medians of all turns, per engine. */
async function compare(backend, [gguf, ggml]) {
  const model = await loadSpeechModel(gguf, { backend });
  const others = Object.entries(peers).filter(([, { there }]) => there);
  const turns = { Quern: [], ...Object.fromEntries(others.map(([name]) => [name, []])) };
  await measureQuern(model); // warms up
  let longestTurn = 0;
  for (let turn = 0; turn < Number(flags.repeat); turn++) {
    const loop = monitorEventLoopDelay({ resolution: 1 });
    loop.enable();
    turns.Quern.push(await measureQuern(model));
    loop.disable();
    longestTurn = Math.max(longestTurn, loop.max / 1e6);
    for (const [name, { measure }] of others) turns[name].push(await measure(ggml));
  }
  const flops = encoderFlops(model.config);
  model.dispose();
  const middle = (list, stage) => median(list.map((values) => values[stage]));
  return Object.entries(turns).map(([name, list]) => ({
    name,
    encode: middle(list, 'encode'),
    token: middle(list, 'token'),
    rate: flops / middle(list, 'encode') / 1e6,
    ...(name === 'Quern' && { mel: middle(list, 'mel'), longestTurn }),
  }));
}

const digits = (value) => (value === undefined ? '' : value.toFixed(value < 10 ? 2 : 0));

function print(shape, format, [ours, ...others]) {
  for (const { name, encode, token, rate, mel, longestTurn } of [ours, ...others]) {
    const ratio = (stage, value) => (name === ours.name ? '' : (value / ours[stage]).toFixed(2));
    const cells = [
      digits(encode),
      digits(rate),
      ratio('encode', encode),
      digits(token),
      ratio('token', token),
    ];
    console.log(`| ${[shape, format, name, ...cells, digits(mel), digits(longestTurn)].join(' | ')} |`);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'quern-speech-'));
try {
  const { backend } = await findBackend('cpu', { threads: Number(flags.threads) });
  const { name, isa, threads } = backend.profile;
  const { rates, readBandwidth } = await backend.measureCeilings();
  console.log(
    `${name}, ${isa}, ${threads} threads; f32 ${(rates.f32 / 1e9).toFixed(0)} GFLOPS, reads ${(readBandwidth / 1e9).toFixed(0)} GB/s`,
  );
  console.log(
    '| shape | format | engine | encoder, ms a window | GFLOPS | ÷ Quern | decoding, ms a token | ÷ Quern | log-mel, ms | longest turn, ms |',
  );
  console.log('| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const shape of flags.shapes.split(','))
    for (const format of flags.formats.split(',')) {
      const files = ['gguf', 'bin'].map((kind) => join(folder, `${shape}-${format}.${kind}`));
      await makeSyntheticSpeechModel(files[0], { shape, format });
      await writeGgml(...files, format);
      print(shape, format, await compare(backend, files));
      for (const file of files) rmSync(file);
    }
  backend.dispose();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
