// Load time of weights, CPU time of the JavaScript thread, and longest block of the event loop (Linux).
//   node tools/measure/loading.mjs model.gguf [--as tq2_0] [--threads 2] [--times 3]
// --as: first copies the model to a temporary file, with random blocks of that format as matrices.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { loadLanguageModel, openModelFile } from '../../packages/models/dist/index.js';
import { byteLength, formats, openGguf, writeGguf } from '../../packages/quant/dist/index.js';
import { readArguments } from './arguments.mjs';
import { longestHold } from './hold.mjs';

const { path, as, threads, times } = readArguments({ threads: 2, times: 3 }, { as: { type: 'string' } });

/** Random bytes; cleared exponent bits keep every 16-bit field finite. */
function* randomBlocks(length) {
  let word = 1;
  for (let done = 0; done < length; done += 1 << 22) {
    const words = new Uint32Array(Math.ceil(Math.min(1 << 22, length - done) / 4));
    for (let i = 0; i < words.length; i++) {
      word = (Math.imul(word, 1664525) + 1013904223) | 0;
      words[i] = word & 0xbfffbfff;
    }
    yield new Uint8Array(words.buffer, 0, Math.min(1 << 22, length - done));
  }
}

/** Seconds that the JavaScript thread has run, and has waited for a CPU. */
function threadSeconds() {
  const [ran, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return { ran: ran / 1e9, waited: waited / 1e9 };
}

async function copyAs(format, to) {
  const { metadata, tensors } = await openGguf(path);
  const tensorAs = ({ name, shape }) =>
    shape.length > 1 && shape.at(-1) % formats[format].blockSize === 0
      ? { name, shape, format, data: randomBlocks(byteLength(format, shape)) }
      : { name, shape, format: 'f32', data: new Uint8Array(byteLength('f32', shape)) };
  await writeGguf(to, { metadata, tensors: tensors.map(tensorAs) });
}

const folder = mkdtempSync(join(tmpdir(), 'quern-loading-'));
try {
  const file = as === undefined ? path : join(folder, 'model.gguf');
  if (as !== undefined) await copyAs(as, file);
  const opened = await openModelFile(file);
  const weights = [...opened.weights.tensors.values()];
  const millions = weights.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b), 0) / 1e6;
  const backend = await createBackend({ threads });
  console.log(
    `model            ${path}${as ? ` as ${as}` : ''}, ${millions.toFixed(0)} million weights, ${threads} threads`,
  );
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    const processor = process.cpuUsage();
    const before = threadSeconds();
    const { result: model, ...hold } = await longestHold(() => loadLanguageModel(opened, backend));
    const seconds = (performance.now() - start) / 1000;
    const { user, system } = process.cpuUsage(processor);
    const { ran, waited } = threadSeconds();
    console.log(
      `load             ${seconds.toFixed(2)} s; processor time ${((user + system) / 1e6).toFixed(2)} s, the JavaScript thread's ${(ran - before.ran).toFixed(2)} s (and ${(waited - before.waited).toFixed(2)} s waiting for a processor)`,
    );
    console.log(
      `longest hold     ${hold.longest.toFixed(2)} ms (median ${hold.median.toFixed(2)}); the thread itself ran at most ${hold.ran.toFixed(2)} ms in one go`,
    );
    model.dispose();
  }
  backend.dispose();
  console.log(`resident         ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB at most`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
