import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cases, exhaustive } from '../../../../test-scope.js';
import { readSamples } from '../../src/audio/read-samples.js';
import { AudioError } from '../../src/index.js';
import { sharedData, testShared } from '../shared-data.js';
import { flacFile, type WavOptions, wavFile } from './sound-files.js';

const tone = (hertz: number, rate: number, seconds: number, amplitude = 0.5) =>
  Array.from(
    { length: Math.round(rate * seconds) },
    (_, i) => amplitude * Math.sin((2 * Math.PI * hertz * i) / rate),
  );

const distance = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);

/** Root mean square, without both ends. */
const level = (x: Float32Array) => {
  const inner = x.subarray(x.length / 4, (3 * x.length) / 4);
  return Math.sqrt(inner.reduce((sum, value) => sum + value * value, 0) / inner.length);
};

const folder = mkdtempSync(join(tmpdir(), 'quern-sound-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Bytes read by this process so far; 0 if the system does not count. */
const bytesRead = () =>
  existsSync('/proc/self/io') ? Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))![1]) : 0;

describe('WAV', () => {
  const values = tone(300, 16_000, 0.05);
  const forms: [WavOptions, number][] = [
    [{ bits: 8 }, 2 ** -7],
    [{ bits: 16 }, 2 ** -15],
    [{ bits: 24 }, 2 ** -23],
    [{ bits: 32 }, 2 ** -24],
    [{ bits: 32, float: true }, 2 ** -24],
    [{ bits: 64, float: true }, 2 ** -24],
    [{ bits: 24, extensible: true }, 2 ** -23],
    [{ bits: 32, float: true, extensible: true }, 2 ** -24],
    [{ bits: 16, piped: true }, 2 ** -15],
  ];
  test.each(forms)('%j', async (options, error) => {
    const read = await readSamples(wavFile([values], options));
    expect(read).toHaveLength(values.length);
    expect(distance(read, values)).toBeLessThanOrEqual(error);
  });

  /** A file of 16 bits with these sizes in its header: of RIFF and of the samples. */
  const withSizes = (riff: number, data: number) => {
    const bytes = wavFile([values], { bits: 16 });
    bytes.writeUInt32LE(riff, 4);
    bytes.writeUInt32LE(data, bytes.indexOf('data') + 4);
    return bytes;
  };

  test.each([
    ['sox', 0x7ffff024, 0x7ffff000],
    ['arecord', 0x80000024, 0x80000000],
    ['ffmpeg', 0xffffffff, 0xffffffff],
    ['a recorder that was killed', 0, 0],
    ['a recorder that writes the sizes last', 36, 0],
    ['signed sizes', 0x7fffffff, 0x7fffffdb],
  ])('%s, into a pipe: read to the end', async (_name, riff, data) => {
    const bytes = withSizes(riff, data);
    const read = await readSamples(bytes);
    expect(read).toHaveLength(values.length);
    expect(distance(read, values)).toBeLessThanOrEqual(2 ** -15);
    await expect(readSamples(bytes.subarray(0, -3))).resolves.toHaveLength(values.length - 2);
  });

  testShared("sox's own file", async () => {
    const path = join(sharedData, 'wav', 'sox-piped.wav'); // 16 bits, one channel, 16 kHz, 44 bytes of header
    await expect(readSamples(path)).resolves.toHaveLength((statSync(path).size - 44) / 2);
  });

  test('no samples, with more after them', async () => {
    const bytes = withSizes(0, 0);
    bytes.writeUInt32LE(bytes.length - 8, 4); // RIFF's size is right: what follows is no sound
    await expect(readSamples(bytes)).rejects.toMatchObject({ code: 'EMPTY' });
  });

  test('large sizes below those of pipes are not taken for unknown', async () => {
    await expect(readSamples(withSizes(0x7fffeff8, 0x7fffefff))).rejects.toMatchObject({ code: 'TRUNCATED' });
  });

  test('channels are averaged', async () => {
    const other = values.map((value) => 0.2 - value);
    const read = await readSamples(wavFile([values, other, values], { bits: 32, float: true }));
    expect(
      distance(
        read,
        values.map((value) => (value + 0.2) / 3),
      ),
    ).toBeLessThan(1e-6);
  });

  test('NaN counts as silence', async () => {
    const read = await readSamples(wavFile([[0.5, Number.NaN, Infinity, -0.5]], { bits: 32, float: true }));
    expect([...read]).toEqual([0.5, 0, 0, -0.5]);
  });

  test('truncated at any byte', async () => {
    const bytes = wavFile([tone(300, 16_000, 0.005)], { bits: 24, extensible: true });
    for (let length = 0; length < bytes.length; length++)
      await expect(readSamples(bytes.subarray(0, length))).rejects.toBeInstanceOf(AudioError);
    await expect(readSamples(bytes)).resolves.toHaveLength(80);
  });

  test('any two bytes of the header changed', async () => {
    const bytes = wavFile([tone(300, 16_000, 0.005)], { bits: 16 });
    for (let at = 0; at < 56; at++)
      for (const value of cases([0, 1, 0x7fff, 0xffff], [0xffff])) {
        const changed = Buffer.from(bytes);
        changed.writeUInt16LE(value, at);
        await readSamples(changed).catch((error: unknown) => expect(error).toBeInstanceOf(AudioError));
      }
  });

  test.each([
    ['mu-law', Buffer.concat([wavFile([[0]], { bits: 8 }).fill(7, 20, 21)]), 'UNSUPPORTED'],
    ['no channel', wavFile([[0]], { bits: 16 }).fill(0, 22, 24), 'BAD_HEADER'],
    ['an absurd rate', wavFile([[0]], { bits: 16, sampleRate: 2 ** 31 }), 'BAD_HEADER'],
    ['another kind of file', Buffer.from('%PDF-1.7 and so on'), 'NOT_AUDIO'],
    ['nothing', Buffer.alloc(0), 'NOT_AUDIO'],
  ])('%s is refused', async (_name, bytes, code) => {
    await expect(readSamples(bytes)).rejects.toMatchObject({ name: 'AudioError', code });
  });

  test('a folder and a pipe are refused at once', async () => {
    const pipe = join(folder, 'pipe.wav');
    execFileSync('mkfifo', [pipe]);
    await expect(readSamples(pipe)).rejects.toMatchObject({
      code: 'READ_FAILED',
      message: `${pipe}: is a pipe; give a regular file, or the bytes of one`,
    });
    await expect(readSamples(folder)).rejects.toThrow('is a folder; give');
  });

  test('a file that is not audio is refused after its first bytes', async () => {
    const path = join(folder, 'large.bin');
    writeFileSync(path, 'PK\x03\x04');
    truncateSync(path, 1.5 * 2 ** 30);
    const before = bytesRead();
    await expect(readSamples(path)).rejects.toMatchObject({ code: 'NOT_AUDIO' });
    expect(bytesRead() - before).toBeLessThan(2 ** 26);
  });

  test('a missing file', async () => {
    await expect(readSamples('/no/such/file.wav')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('other rates', () => {
  test.each([8000, 11_025, 22_050, 44_100, 48_000, 96_000, 7919])('%d Hz', async (sampleRate) => {
    const samples = Float32Array.from(tone(440, sampleRate, 0.5));
    const read = await readSamples({ samples, sampleRate });
    const expected = tone(440, 16_000, 0.5);
    expect(Math.abs(read.length - expected.length)).toBeLessThanOrEqual(2);
    expect(distance(read.subarray(1000, 7000), expected.slice(1000))).toBeLessThan(1e-3);
  });

  test('frequencies above 8 kHz are removed', async () => {
    const loud = level(
      await readSamples({ samples: Float32Array.from(tone(7000, 48_000, 0.5)), sampleRate: 48_000 }),
    );
    for (const hertz of [9000, 12_000, 15_500, 20_000]) {
      const samples = Float32Array.from(tone(hertz, 48_000, 0.5));
      expect(level(await readSamples({ samples, sampleRate: 48_000 })) / loud).toBeLessThan(1e-3);
    }
  });

  test('samples that are not numbers are refused', async () => {
    for (const value of [Number.NaN, Infinity]) {
      const samples = [new Float32Array(3e6), new Float32Array(3e6).fill(value, 2_500_000, 2_500_001)];
      await expect(readSamples({ samples, sampleRate: 16_000 })).rejects.toMatchObject({
        code: 'BAD_SAMPLES',
        message: `sample 2500000 is ${value}; samples are numbers from -1 to 1`,
      });
    }
  });

  test('channels of different lengths are refused', async () => {
    const samples = [new Float32Array(3), new Float32Array(4)];
    await expect(readSamples({ samples, sampleRate: 16_000 })).rejects.toMatchObject({ code: 'BAD_SAMPLES' });
    await expect(readSamples({ samples: [], sampleRate: 16_000 })).rejects.toMatchObject({
      code: 'BAD_SAMPLES',
    });
  });
});

describe('compressed', () => {
  const values = tone(300, 16_000, 0.06);

  test('FLAC', async () => {
    const read = await readSamples(flacFile(values));
    expect(read).toHaveLength(960);
    expect(distance(read, values)).toBeLessThan(1e-4);
  });

  test('FLAC, truncated', async () => {
    const bytes = flacFile(values);
    for (const length of [4, 5, 41, 43, 60, 300, 900, bytes.length - 1])
      await expect(readSamples(bytes.subarray(0, length))).rejects.toBeInstanceOf(AudioError);
  });

  test('FLAC with a changed header byte', async () => {
    const bytes = flacFile(values.slice(0, 200));
    for (let at = 4; at < 60; at += exhaustive ? 3 : 11) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 0xff;
      await readSamples(changed).catch((error: unknown) => expect(error).toBeInstanceOf(AudioError));
    }
  });

  // A tone of 440 Hz, amplitude 0.5, 0.3 s at 16 kHz: lame 3.100 -m m --cbr -b 32; oggenc 1.4.2 -q 0
  const file = (kind: string) => readFileSync(new URL(`./files/tone.${kind}`, import.meta.url));
  /** A typed error, or samples no longer than the whole file's, for any damage. */
  const survives = async (bytes: Uint8Array) => {
    const read = await readSamples(bytes).catch((error: unknown) => error);
    if (read instanceof Float32Array) expect(read.length).toBeLessThanOrEqual(6336);
    else expect(read).toBeInstanceOf(AudioError);
  };

  /** Amplitude of the part with 440 Hz. */
  const amplitude = (read: Float32Array) => {
    const [from, count] = [2000, 1600]; // 44 periods
    let [cosine, sine] = [0, 0];
    for (let i = 0; i < count; i++) {
      cosine += (2 / count) * read[from + i]! * Math.cos((2 * Math.PI * 440 * i) / 16_000);
      sine += (2 / count) * read[from + i]! * Math.sin((2 * Math.PI * 440 * i) / 16_000);
    }
    return Math.hypot(cosine, sine);
  };

  test.each(['mp3', 'ogg', 'opus', 'webm', 'oga'])('%s', async (kind) => {
    const read = await readSamples(file(kind));
    expect(read.length).toBeGreaterThanOrEqual(4800);
    expect(read.length).toBeLessThanOrEqual(6336); // MP3 has whole frames, some of them before the sound
    expect(Math.abs(amplitude(read) - 0.5)).toBeLessThan(0.03); // coding error
    expect(Math.abs(level(read.subarray(2000, 3600)) - 0.5 / Math.SQRT2)).toBeLessThan(0.02);
  });

  test.each(['ogg', 'opus', 'webm'])('%s, truncated at any byte', async (kind) => {
    const bytes = file(kind);
    for (let length = 0; length < bytes.length; length += exhaustive ? 1 : 9)
      await expect(readSamples(bytes.subarray(0, length))).rejects.toBeInstanceOf(AudioError);
  });

  test("an Ogg Opus file's start and end are left out as its header and last page say", async () => {
    await expect(readSamples(file('opus'))).resolves.toHaveLength(4800); // 0.3 s
  });

  test("the gain of an Opus file's header", async () => {
    const bytes = file('opus');
    const plain = amplitude(await readSamples(bytes));
    bytes.writeInt16LE(-6 * 256, bytes.indexOf('OpusHead') + 16);
    expect(amplitude(await readSamples(bytes)) / plain).toBeCloseTo(10 ** (-6 / 20), 5);
  });

  /** A recording of a browser: the sizes of the segment and of its clusters are unknown. */
  const liveWebm = () => {
    const bytes = file('webm');
    for (const id of ['18538067', '1f43b675']) {
      const at = bytes.indexOf(Buffer.from(id, 'hex')) + 4;
      const length = Math.clz32(bytes[at]!) - 23;
      bytes.fill(0xff, at, at + length);
      bytes[at] = 0xff >> (length - 1);
    }
    return bytes;
  };

  test('WebM without sizes, as browsers record; cut off, its whole blocks are read', async () => {
    const [bytes, read] = [liveWebm(), await readSamples(file('webm'))];
    expect(await readSamples(bytes)).toEqual(read);
    for (let length = 0; length < bytes.length; length += exhaustive ? 37 : 397) {
      const part = await readSamples(bytes.subarray(0, length)).catch((error: unknown) => error);
      if (part instanceof Float32Array) expect(part.length).toBeLessThanOrEqual(read.length);
      else expect(part).toBeInstanceOf(AudioError);
    }
  });

  test('a truncated MP3 is shorter, or refused', async () => {
    const bytes = file('mp3'); // frames of 144 bytes
    const lengths = [0, 1, 2, 3, 4, 5, 21, 36, 40, 60, 100, 143];
    for (let frame = 144; frame < bytes.length; frame += exhaustive ? 144 : 9 * 144)
      lengths.push(frame, frame + 1, frame + 71, frame + 143);
    for (const length of lengths) await survives(bytes.subarray(0, length));
  });

  test('several Ogg sounds in one file are refused', async () => {
    for (const kind of ['opus', 'ogg'])
      await expect(readSamples(Buffer.concat([file(kind), file(kind)]))).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        message: expect.stringContaining('sounds one after the other'),
      });
  });

  test.each(['mp3', 'ogg', 'opus', 'webm'])('%s with changed bytes', async (kind) => {
    const bytes = file(kind);
    for (let i = 0; i < (exhaustive ? 16 : 3); i++) {
      const changed = Buffer.from(bytes);
      for (let at = 2 + i; at < changed.length; at += 97 + 40 * i) changed[at]! ^= 1 << (i % 8);
      await survives(changed);
    }
  });

  test.each([
    ['MP3', Buffer.from('ID3\x04\0\0\0\0\0\0 nothing')],
    ['Ogg Vorbis', Buffer.from(`OggS${'\0'.repeat(24)}\x01vorbis`)],
    ['Ogg Opus', Buffer.from(`OggS${'\0'.repeat(24)}OpusHead`)],
    ['WebM', Buffer.from('1a45dfa3', 'hex')],
  ])('%s without samples', async (_name, bytes) => {
    await expect(readSamples(bytes)).rejects.toMatchObject({ name: 'AudioError', code: 'DECODE_FAILED' });
  });
});

describe('what is not decoded is named, with the command that converts it', () => {
  const box = (type: string, ...parts: (Buffer | string)[]) => {
    const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
    const head = Buffer.alloc(8);
    head.writeUInt32BE(8 + content.length);
    head.write(type, 4, 'latin1');
    return Buffer.concat([head, content]);
  };
  const track = (kind: string, codec: string) =>
    box(
      'trak',
      box('tkhd', Buffer.alloc(84)),
      box(
        'mdia',
        box('hdlr', Buffer.alloc(8), kind, Buffer.alloc(13)),
        box('minf', box('stbl', box('stsd', Buffer.alloc(8), box(codec, Buffer.alloc(28))))),
      ),
    );
  const mp4 = (...tracks: Buffer[]) =>
    Buffer.concat([box('ftyp', 'M4A ', Buffer.alloc(4)), box('mdat', 'sound'), box('moov', ...tracks)]);
  const ogg = (packet: string) => Buffer.from(`OggS${'\0'.repeat(24)}${packet}`, 'latin1');
  const webm = (codec: string) => {
    const bytes = readFileSync(new URL('./files/tone.webm', import.meta.url));
    bytes.write(codec, bytes.indexOf('A_OPUS'), 'latin1');
    return bytes;
  };

  test.each([
    ['MP4 with AAC', mp4(track('vide', 'avc1'), track('soun', 'mp4a'))],
    ['MP4 with Apple Lossless (ALAC)', mp4(track('soun', 'alac'))],
    ['MP4 with x?yz', mp4(track('soun', 'x\x01yz'))],
    ['MP4 with no sound track', mp4(track('vide', 'avc1'))],
    ['MP4 with no sound track', mp4().subarray(0, 30)],
    ['AAC', Buffer.from('fff15080', 'hex')],
    ['AIFF', Buffer.from('FORM\0\0\0\0AIFF')],
    ['CAF (Core Audio)', Buffer.from('caff\0\0')],
    ['AU', Buffer.from('.snd')],
    ['AMR', Buffer.from('#!AMR\n')],
    ['Windows Media (ASF)', Buffer.from('3026b2758e66cf11', 'hex')],
    ['Ogg with Speex', ogg('Speex   ')],
    ['Ogg with theora', ogg('\x80theora')],
    ['WebM with FLAC', webm('A_FLAC')],
    ['WebM with S_TEXT', webm('S_TEXT')],
  ])('%s', async (name, bytes) => {
    const advice = 'which Quern does not decode; convert it: ffmpeg -i';
    await expect(readSamples(bytes)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: `the sound given: is ${name}, ${advice} IN -ar 16000 -ac 1 out.wav`,
    });
    const path = join(folder, 'my "sound');
    writeFileSync(path, bytes);
    await expect(readSamples(path)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: `${path}: is ${name}, ${advice} "${path.replace('"', '\\"')}" -ar 16000 -ac 1 out.wav`,
    });
  });

  test('WebM with laced blocks', async () => {
    const bytes = readFileSync(new URL('./files/tone.webm', import.meta.url));
    const block = bytes.indexOf(0xa3, bytes.indexOf(Buffer.from('1f43b675', 'hex')) + 4);
    const length = Math.clz32(bytes[block + 1]!) - 23;
    bytes[block + 1 + length + 3]! |= 2; // after the track's number and the time
    await expect(readSamples(bytes)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('is WebM Opus with several packets per block (lacing), which'),
    });
  });

  test('what no kind is known for', async () => {
    await expect(readSamples(Buffer.from('no sound'))).rejects.toMatchObject({
      code: 'NOT_AUDIO',
      message: expect.stringContaining('ffmpeg -i IN -ar 16000 -ac 1 out.wav'),
    });
  });
});

describe('memory that its owner transfers', () => {
  const values = tone(300, 16_000, 70); // longer than a slice of work
  const giveAway = (buffer: ArrayBuffer) => structuredClone(buffer, { transfer: [buffer] });
  const kinds = [
    ['the bytes of a file', () => wavFile([values], { bits: 16 })],
    ['samples', () => Float32Array.from(values)],
  ] as const;
  const soundOf = (memory: Uint8Array | Float32Array) =>
    memory instanceof Float32Array ? { samples: memory, sampleRate: 48_000 } : memory;
  const taken = { name: 'AudioError', code: 'BAD_SAMPLES', message: expect.stringContaining('transferred') };

  test.each(kinds)('%s, transferred before reading', async (_, make) => {
    const memory = make();
    giveAway(memory.buffer as ArrayBuffer);
    await expect(readSamples(soundOf(memory))).rejects.toMatchObject(taken);
  });

  test.each(kinds)('%s, transferred during reading', async (_, make) => {
    const memory = make();
    const reading = readSamples(soundOf(memory));
    giveAway(memory.buffer as ArrayBuffer);
    await expect(reading).rejects.toMatchObject(taken);
  });

  test('samples, transferred after reading', async () => {
    const samples = Float32Array.from(values);
    const read = await readSamples({ samples, sampleRate: 16_000 });
    giveAway(samples.buffer);
    expect(read).toHaveLength(values.length);
  });
});
