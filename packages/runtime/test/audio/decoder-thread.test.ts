// A decoder thread that does not start, that fails, or that is aborted: every call settles.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { decodeInThread } from '../../src/audio/decoder-thread.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-decoder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
/** A job for a package whose decoder class has this body. */
function job(body: string) {
  const path = join(folder, `${count++}.mjs`);
  writeFileSync(path, `console.log('loud'); console.error('loud'); export class Decoder { ${body} }`);
  return { module: pathToFileURL(path).href, decoder: 'Decoder', bytes: Uint8Array.of(1, 2, 3) };
}

const decoded = { samplesDecoded: 1, channelData: [Float32Array.of(0.5)], sampleRate: 16_000, errors: [] };

test('samples of a decoder, from either of its methods', async () => {
  const body = `async %(bytes) {
    return { samplesDecoded: bytes.length - 2, channelData: [Float32Array.of(0.5)], sampleRate: 16000, errors: [] }; }`;
  for (const method of ['decode', 'decodeFile'])
    expect(await decodeInThread(job(body.replace('%', method)), undefined)).toEqual({ decoded });
});

test.each([
  ['no such module', { ...job(''), module: pathToFileURL(join(folder, 'none.mjs')).href }, /none\.mjs/],
  ['no such class', { ...job(''), decoder: 'Other' }, /not a constructor/],
  ['a constructor that throws', job("constructor() { throw new Error('no memory'); }"), /^no memory$/],
  ['a decoder that is never ready', job("ready = Promise.reject(new Error('no wasm'))"), /^no wasm$/],
  ['a decoder that ends the thread', job('decode() { process.exit(3); }'), /ended by itself \(exit 3\)/],
  [
    'an uncaught error',
    job("decode() { setTimeout(() => { throw new Error('late'); }); return new Promise(() => {}); }"),
    /thread failed: late/,
  ],
])('%s: an error about the decoder', async (_name, given, message) => {
  expect(await decodeInThread(given, undefined)).toEqual({ unusable: expect.stringMatching(message) });
});

test('data that the decoder refuses', async () => {
  const refusing = job("async decode() { throw new Error('no frame'); }");
  expect(await decodeInThread(refusing, undefined)).toEqual({ broken: 'no frame' });
});

test.each([
  ['a decoder that waits forever', 'decode() { setInterval(() => {}, 1000); return new Promise(() => {}); }'],
  ['a decoder in an endless loop', 'decode() { for (;;); }'],
])('%s: aborted', async (_name, body) => {
  const reason = new Error('enough');
  const decoding = decodeInThread(job(body), AbortSignal.timeout(200));
  await expect(decoding).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect(decodeInThread(job(body), AbortSignal.abort(reason))).rejects.toBe(reason);
});
