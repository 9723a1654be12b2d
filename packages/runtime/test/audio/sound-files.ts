/** Audio files in the form of other programs, for tests. */

export interface WavOptions {
  readonly sampleRate?: number;
  readonly bits: 8 | 16 | 24 | 32 | 64;
  readonly float?: boolean;
  /** WAVE_FORMAT_EXTENSIBLE, which Windows writes. */
  readonly extensible?: boolean;
  /** Written to a pipe: unknown sizes in the header. */
  readonly piped?: boolean;
}

const u16 = (...values: number[]) => Buffer.from(Uint16Array.from(values).buffer);
const u32 = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);

function writeSample(bytes: Buffer, at: number, value: number, { bits, float }: WavOptions): void {
  const whole = Math.max(
    -(2 ** (bits - 1)),
    Math.min(2 ** (bits - 1) - 1, Math.round(value * 2 ** (bits - 1))),
  );
  if (float && bits === 32) bytes.writeFloatLE(value, at);
  else if (float) bytes.writeDoubleLE(value, at);
  else if (bits === 8) bytes.writeUInt8(whole + 128, at);
  else bytes.writeIntLE(whole, at, bits / 8);
}

/** A WAV file with channels of equal length, and a chunk of odd length before the samples. */
export function wavFile(channels: readonly (readonly number[])[], options: WavOptions): Buffer {
  const { sampleRate = 16_000, bits, float = false, extensible = false, piped = false } = options;
  const frame = (channels.length * bits) / 8;
  const coding = float ? 3 : 1;
  const basic = Buffer.concat([
    u16(extensible ? 0xfffe : coding, channels.length),
    u32(sampleRate, sampleRate * frame),
    u16(frame, bits),
  ]);
  const format = extensible
    ? Buffer.concat([basic, u16(22, bits), u32(0), u16(coding), Buffer.alloc(14)])
    : basic;
  const data = Buffer.alloc(channels[0]!.length * frame);
  for (const [c, channel] of channels.entries())
    for (const [i, value] of channel.entries()) writeSample(data, i * frame + (c * bits) / 8, value, options);
  const body = Buffer.concat([
    Buffer.from('WAVEfmt '),
    u32(format.length),
    format,
    Buffer.from('LIST'),
    u32(3),
    Buffer.from('abc\0'),
    Buffer.from('data'),
    u32(piped ? 0xffffffff : data.length),
    data,
  ]);
  return Buffer.concat([Buffer.from('RIFF'), u32(piped ? 0xffffffff : body.length), body]);
}

/** Writes integers of a given number of bits, most significant bit first. */
class BitWriter {
  private readonly bits: number[] = [];

  put(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit--) this.bits.push(Math.floor(value / 2 ** bit) % 2);
    return this;
  }

  bytes(): Buffer {
    return Buffer.from(
      Array.from({ length: this.bits.length / 8 }, (_, i) =>
        this.bits.slice(8 * i, 8 * i + 8).reduce((byte, bit) => 2 * byte + bit, 0),
      ),
    );
  }
}

function crc(bytes: Uint8Array, polynomial: number, bits: number): number {
  let remainder = 0;
  for (const byte of bytes) {
    remainder ^= byte << (bits - 8);
    for (let i = 0; i < 8; i++) {
      const carry = remainder & (1 << (bits - 1));
      remainder = ((remainder << 1) ^ (carry ? polynomial : 0)) & (2 ** bits - 1);
    }
  }
  return remainder;
}

const flacBlock = 192;

/** A FLAC file: one channel, 16 bits, 16 kHz, verbatim frames. */
export function flacFile(values: readonly number[]): Buffer {
  const blocks = Math.floor(values.length / flacBlock);
  const info = new BitWriter().put(flacBlock, 16).put(flacBlock, 16).put(0, 24).put(0, 24);
  info
    .put(16_000, 20)
    .put(0, 3)
    .put(15, 5)
    .put(blocks * flacBlock, 36);
  const frames = Array.from({ length: blocks }, (_, i) => {
    // sync, fixed block size, 192 samples, 16 kHz, mono, 16 bits, frame number
    const head = new BitWriter()
      .put(0b11111111111110, 14)
      .put(0, 2)
      .put(1, 4)
      .put(5, 4)
      .put(0, 4)
      .put(4, 3)
      .put(0, 1);
    const header = head.put(i, 8).bytes();
    const samples = new BitWriter().put(0b00000010, 8); // a verbatim subframe
    for (const value of values.slice(i * flacBlock, (i + 1) * flacBlock))
      samples.put((Math.round(value * 32_767) + 65_536) % 65_536, 16);
    const frame = Buffer.concat([header, Buffer.of(crc(header, 0x07, 8)), samples.bytes()]);
    const check = Buffer.alloc(2);
    check.writeUInt16BE(crc(frame, 0x8005, 16));
    return Buffer.concat([frame, check]);
  });
  return Buffer.concat([
    Buffer.from('fLaC'),
    Buffer.of(0x80, 0, 0, 34),
    info.bytes(),
    Buffer.alloc(16),
    ...frames,
  ]);
}
