// A decoder thread that does not start, that fails, or that is aborted: every call settles.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { decodeInThread, type Piece } from '../../src/audio/decoder-thread.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-decoder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
/** A job for a package whose decoder class has this body. */
function job(body: string) {
  const path = join(folder, `${count++}.mjs`);
  writeFileSync(path, `console.log('loud'); console.error('loud'); export class Decoder { ${body} }`);
  const pieces: Piece[] = [Uint8Array.of(1, 2, 3), Uint8Array.of(4)];
  return { module: pathToFileURL(path).href, decoder: 'Decoder', pieces, maxSamples: 100 };
}

const sound = (samples: string, sampleRate = '16000') =>
  `{ channelData: ${samples}, sampleRate: ${sampleRate}, errors: [] }`;
const byte = sound('[Float32Array.of(bytes[0])]');
const samples = (...values: number[]) => ({
  decoded: { samples: Float32Array.from(values), sampleRate: 16_000 },
});

test('the samples of the pieces, in order, and those of the end', async () => {
  expect(await decodeInThread(job(`async decode(bytes) { return ${byte}; }`), undefined)).toEqual(
    samples(1, 4),
  );
  const flushing = `decode(bytes) { return ${byte}; } async flush() { return ${sound('[Float32Array.of(9)]')}; }`;
  expect(await decodeInThread(job(flushing), undefined)).toEqual(samples(1, 4, 9));
});

test('lists of packets, and the options of the decoder', async () => {
  const body = `constructor(options) { this.add = options.add; }
    decodeFrames(list) { return ${sound('[Float32Array.from(list, ([value]) => value + this.add)]')}; }`;
  const pieces = [[Uint8Array.of(1), Uint8Array.of(2)], [Uint8Array.of(3)]];
  expect(await decodeInThread({ ...job(body), pieces, options: { add: 5 } }, undefined)).toEqual(
    samples(6, 7, 8),
  );
});

test('channels are averaged', async () => {
  const body = `decode(bytes) { return ${sound('[Float32Array.of(bytes[0]), Float32Array.of(0), Float32Array.of(2)]')}; }`;
  expect(await decodeInThread(job(body), undefined)).toEqual(samples(1, 2));
});

test('a sound that grows without end, and one with another rate in its middle', async () => {
  const long = job(`decode() { return ${sound('[new Float32Array(60)]')}; }`);
  expect(await decodeInThread(long, undefined)).toEqual({ tooLong: true });
  const other = job(`decode(bytes) { return ${sound('[Float32Array.of(1)]', '8000 * bytes[0]')}; }`);
  expect(await decodeInThread(other, undefined)).toEqual({
    broken: 'its rate changes from 8000 to 32000 samples per second',
  });
});

test('a fault of the pieces ends the thread', async () => {
  const failing = async function* () {
    yield Uint8Array.of(1);
    throw new Error('no page');
  };
  const body = `decode(bytes) { return ${byte}; }`;
  await expect(decodeInThread({ ...job(body), pieces: failing() }, undefined)).rejects.toThrow('no page');
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
  const reporting = job(
    "decode() { return { channelData: [], sampleRate: 0, errors: [{ message: 'odd' }] }; }",
  );
  expect(await decodeInThread(reporting, undefined)).toEqual({ broken: 'odd' });
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
