// The published kit, on every instruction set of this machine; what multiplies, with the other precisions too.
import { type Codec, conformanceTests } from '@quern/conformance';
import { decode, decodeIq8, formats, iq8 } from '@quern/quant';
import { ggufFormats } from '../src/formats.js';
import { cpuDriver, createBackend } from '../src/index.js';
import { testedKernels } from './isas.js';

const ggufCodecs: readonly Codec[] = Object.values(formats)
  .filter(({ name }) => ggufFormats.includes(name))
  .map(({ name, blockSize, blockBytes }) => ({
    format: name,
    blockSize,
    blockBytes,
    decode(bytes, count) {
      const floats = new Float32Array(count);
      decode(name, bytes, 0, floats, 0, count);
      return floats;
    },
  }));
const { name, ...layout } = iq8;
const codecs: readonly Codec[] = [...ggufCodecs, { format: name, ...layout, decode: decodeIq8 }];

const products = ['generated', 'fused', 'rows', 'weights', 'moeFused', 'quantGguf'] as const;

for (const { isa, precision } of await testedKernels())
  await conformanceTests(
    {
      createDriver: () => cpuDriver({ isa, threads: 2, precision }),
      createBackend,
      codecs,
      ...(precision !== 'standard' && { only: { suites: products } }),
    },
    { describe: (name, body) => describe(`${isa}, ${precision}: ${name}`, body), test },
  );
