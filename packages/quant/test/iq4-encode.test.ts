import { writeIq4Nl } from '../src/format/iq4-encode.js';
import { mulberry32 } from './mulberry32.js';
import { describeShared, readShared } from './shared-data.js';

describeShared('ggml-quant-vectors', () => {
  test.each(['noim', 'im'])('iq4_nl gives the bytes that ggml gives: %s', (variant) => {
    const stem = `iq4_nl_64_${variant}`;
    const x = new Float32Array(readShared('ggml-quant-vectors', `${stem}_input.bin`).buffer);
    const next = mulberry32(2);
    const importance = Float32Array.from({ length: 64 }, () => Math.abs((next() / 2 ** 32) * 2 - 1) + 1e-3);
    const blocks = new Uint8Array((x.length / 32) * 18);
    for (let block = 0; block < x.length / 32; block++)
      if (variant === 'im') writeIq4Nl(x, 32 * block, blocks, 18 * block, importance, (32 * block) % 64);
      else writeIq4Nl(x, 32 * block, blocks, 18 * block);
    expect(blocks).toEqual(readShared('ggml-quant-vectors', `${stem}_expected.bin`));
  });
});
