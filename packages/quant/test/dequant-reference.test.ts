import { decode, formatOfType, formats } from '../src/index.js';
import { bitsOf, describeShared, filesIn, readShared } from './shared-data.js';

// Blocks from real checkpoints and their floats by gguf-py. CONTAINER-FORMATS.txt gives the layout.
describeShared('dequant-reference', () => {
  test.each(filesIn('dequant-reference/gguf', '.bin'))('%s is decoded bit for bit', (name) => {
    const file = readShared('dequant-reference/gguf', name);
    const header = new DataView(file.buffer);
    expect(Buffer.from(file.subarray(0, 4)).toString()).toBe('AMNG');
    const [type, count, rawBytes, bf16Bytes] = [8, 12, 16, 20].map((at) => header.getUint32(at, true)) as [
      number,
      number,
      number,
      number,
    ];
    const format = formatOfType(type)!;
    const { blockSize, blockBytes } = formats[format];
    expect(rawBytes).toBe((count / blockSize) * blockBytes);

    const golden = new Uint32Array(file.slice(28 + rawBytes + bf16Bytes).buffer);
    expect(golden.length).toBe(count);
    const decoded = new Float32Array(count);
    decode(format, file, 28, decoded, 0, count);
    expect(Buffer.compare(Buffer.from(decoded.buffer), Buffer.from(golden.buffer))).toBe(0);
    expect(bitsOf(decoded).some((bits) => bits !== 0)).toBe(true);
  });
});
