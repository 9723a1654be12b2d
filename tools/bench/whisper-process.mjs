// The benchmark of @fugood/whisper.node's whisper.cpp, with the faster attention; its log also goes to stdout.
//   node whisper-process.mjs NODE_MODULES MODEL THREADS
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [modules, filePath, threads] = process.argv.slice(2);
const { loadWhisperModule } = createRequire(join(modules, 'x.js'))('@fugood/whisper.node');
const { WhisperContext } = await loadWhisperModule();
const context = await new WhisperContext({ filePath, useGpu: false, useFlashAttn: true });
const { encodeMs, decodeMs } = await context.bench(Number(threads));
console.log(`\n${JSON.stringify({ encode: encodeMs, token: decodeMs })}`);
await context.release();
