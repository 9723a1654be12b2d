import { writeFileSync } from 'node:fs';

/** Writes tensors `{ name, shape, values }` of f32. */
export function writeSafetensors(path, tensors) {
  let end = 0;
  const header = tensors.map(({ name, shape, values }) => {
    const begin = end;
    end += 4 * values.length;
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }];
  });
  const text = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const data = tensors.map(({ values }) => new Uint8Array(values.buffer));
  writeFileSync(path, Buffer.concat([length, text, ...data]));
}
