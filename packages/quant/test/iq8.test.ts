import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import { decode, decodeIq8, formatNames, formats, iq8, isIq8Source, toIq8 } from '../src/index.js';

const sources = formatNames.filter(isIq8Source);
const blocks = 2;

test('iq1, iq2, iq3 and tq have an iq8 form', () => {
  expect(sources).toEqual(formatNames.filter((name) => /^(iq[123]|tq[12])_/.test(name)));
});

test.each(sources)('%s and its iq8 form decode to the same bits', (format) => {
  const { blockSize, blockBytes } = formats[format];
  const length = blocks * blockBytes;
  fc.assert(
    fc.property(fc.uint8Array({ minLength: length, maxLength: length }), (src) => {
      const values = new Float32Array(blocks * blockSize);
      decode(format, src, 0, values, 0, values.length);
      const rewritten = new Uint8Array(blocks * iq8.blockBytes);
      const possible = toIq8(format, src, rewritten);
      expect(possible).toBe(values.every(Number.isFinite));
      if (possible)
        expect(decodeIq8(rewritten, values.length).map((x) => x + 0)).toEqual(values.map((x) => x + 0));
    }),
    { seed: 11, numRuns: runs(60) },
  );
});
