// Blocks decoded by other programs: every instruction set gives the same bits.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Backend, defineBackend } from '@quern/core';
import { formatOfType, formats, type GgufFormat, openGguf } from '@quern/quant';
import { cpuDriver } from '../src/index.js';
import { testedIsas } from './isas.js';

const data = resolve(import.meta.dirname, '../../../../shared/data');
const describeShared = existsSync(data) ? describe : describe.skip;
const reason = existsSync(data) ? '' : ' (skipped: ../shared/data is absent)';

interface Golden {
  readonly name: string;
  readonly format: GgufFormat;
  readonly bytes: Uint8Array;
  readonly floats: Float32Array;
}

/** A file of dequant-reference: a header of seven words, the blocks, bf16 values, f32 values. */
function cutFromCheckpoint(name: string): Golden {
  const file = new Uint8Array(readFileSync(join(data, 'dequant-reference/gguf', name)));
  const header = new DataView(file.buffer);
  const [type, , rawBytes, bf16Bytes] = [8, 12, 16, 20].map((at) => header.getUint32(at, true));
  const floats = new Float32Array(file.slice(28 + rawBytes! + bf16Bytes!).buffer);
  return { name, format: formatOfType(type!)!, bytes: file.slice(28, 28 + rawBytes!), floats };
}

async function tinyKquant(): Promise<Golden[]> {
  const path = join(data, 'tiny-hf/tiny_kquant.gguf');
  const reference = JSON.parse(readFileSync(join(data, 'tiny-hf/tiny_kquant_ref.json'), 'utf8')).dequant;
  const file = new Uint8Array(readFileSync(path));
  const { tensors } = await openGguf(path);
  return tensors
    .filter(({ format }) => format.toUpperCase() in reference)
    .map(({ name, format, offset, byteLength }) => ({
      name: `tiny_kquant ${name}`,
      format,
      bytes: file.slice(offset, offset + byteLength),
      floats: Float32Array.from((reference[format.toUpperCase()] as number[][]).flat()),
    }));
}

const goldens = existsSync(data)
  ? [...readdirSync(join(data, 'dequant-reference/gguf')).map(cutFromCheckpoint), ...(await tinyKquant())]
  : [];
const isas = await testedIsas();

describeShared.each(isas)(`%s${reason}`, (isa) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = defineBackend(await cpuDriver({ isa, threads: 2 }));
  });
  afterAll(() => backend.dispose());

  test('there are goldens of both kinds', () => {
    expect(goldens.length).toBeGreaterThanOrEqual(9);
  });

  test.each(goldens.length > 0 ? goldens : [undefined])('$name', async (golden) => {
    const { name, format, bytes, floats } = golden!;
    const width = Math.max(256, formats[format].blockSize);
    const rows = floats.length / width;
    using table = await backend.loadWeight({ name, shape: [rows, width], format, bytes });
    using step = backend.step();
    const ids = Int32Array.from({ length: rows }, (_, i) => i);
    const got = await step.read(backend.embed(table, step.input(ids)));
    const bits = Buffer.from(got.buffer, got.byteOffset, got.byteLength);
    expect(Buffer.compare(bits, Buffer.from(floats.buffer))).toBe(0);
  });
});
