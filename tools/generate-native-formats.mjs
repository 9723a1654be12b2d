// Writes the native backends' lists of weight formats from the table of @quern/quant. GPU backends: the formats of
// packages/gpu/native/kernels/formats/every.h. backend-cpu: from the files of a format in packages/backend-cpu/native/kernels:
//
//   scalar/decode/NAME.h                        blocks to floats: the backend reads the format
//   packed/formats/NAME.h, simd/formats/NAME.h  tile layout, and products with tiles (integer kernels)
//   x86/decode/NAME.h, arm/neon/decode/NAME.h   decoders of an instruction set; without one, the scalar decoder is used
//
//   node tools/generate-native-formats.mjs            after `nx build quant`
//   node tools/generate-native-formats.mjs --check    fails if a file would change
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const kernels = at('../packages/backend-cpu/native/kernels/');
const made =
  '// Made by tools/generate-native-formats.mjs from the table of @quern/quant and the files of kernels/; edit those instead.\n';

const quant = await import(pathToFileURL(at('../packages/quant/dist/index.js')).href);
const known = [...Object.values(quant.formats), quant.iq8, quant.f8Blocks];
const has = (folder, { name }) => existsSync(`${kernels}${folder}/${name}.h`);

const formats = known.filter((format) => has('scalar/decode', format));
const packed = formats.filter((format) => has('packed/formats', format));

/** Throws if a file of the folder has the name of no format. */
function needKnown(folder) {
  const names = new Set([...known.map(({ name }) => `${name}.h`), 'fields.h']);
  const odd = readdirSync(kernels + folder).find((file) => !names.has(file));
  if (odd) throw new Error(`${folder}/${odd}: @quern/quant has no such format`);
}

for (const format of known)
  if (has('packed/formats', format) !== has('simd/formats', format))
    throw new Error(`${format.name} must have a file in packed/formats and in simd/formats, or in neither`);
for (const folder of ['scalar/decode', 'x86/decode', 'arm/neon/decode', 'packed/formats', 'simd/formats'])
  needKnown(folder);

const entry = (format) => {
  const { name, blockSize, blockBytes } = format;
  const macro = packed.includes(format) ? 'QUERN_PACKED' : 'QUERN_UNPACKED';
  return `${macro}(${name}, ${name.toUpperCase()}, ${blockSize}, ${blockBytes})\n`;
};

const list = `${made}// Before including this file, define QUERN_FORMAT(name, NAME, block, block_bytes). Or define two macros with these parameters:
// QUERN_PACKED for formats with tiles, QUERN_UNPACKED for formats without tiles.
#if defined(QUERN_FORMAT)
#define QUERN_PACKED QUERN_FORMAT
#define QUERN_UNPACKED QUERN_FORMAT
#endif
${formats.map(entry).join('')}#undef QUERN_FORMAT
#undef QUERN_PACKED
#undef QUERN_UNPACKED
`;

const includes = (folder, of) => of.map(({ name }) => `#include "../${folder}/${name}.h"\n`).join('');

const scalarDecoder = ({ name }) => `
namespace quern::scalar {
void decode_${name}(const void* blocks, float* out, int64_t count);
}
namespace quern::QUERN_ISA {
void decode_${name}(const void* blocks, float* out, int64_t count) { scalar::decode_${name}(blocks, out, count); }
}
`;

/** The decoders of an instruction set. */
const decoders = (folder) =>
  `${made}#pragma once\n${includes(
    folder,
    formats.filter((format) => has(folder, format)),
  )}${formats
    .filter((format) => !has(folder, format))
    .map(scalarDecoder)
    .join('')}`;

const manifest = (read, name = 'ggufFormats') => `${made}
/** Block formats that the kernels read. */
export const ${name}: readonly string[] = [
${read
  .filter(({ blockSize }) => blockSize > 1)
  .map(({ name }) => `  '${name}',\n`)
  .join('')}];
`;

/** The formats of GPU kernels. Throws if @quern/quant does not know one. */
function gpuFormats() {
  const list = readFileSync(at('../packages/gpu/native/kernels/formats/every.h'), 'utf8');
  const names = [...list.matchAll(/F\((?:Blocks|Dense)<\w+>, (\w+)\)/g)].map(([, name]) => name);
  const odd = names.find((name) => !known.some((format) => format.name === name));
  if (odd || names.length === 0) throw new Error(`every.h: @quern/quant has no format '${odd}'`);
  return known.filter(({ name }) => names.includes(name));
}

const files = {
  [`${kernels}generated/formats.inc`]: list,
  [`${kernels}generated/scalar-decode.h`]: `${made}#pragma once\n${includes('scalar/decode', formats)}`,
  [`${kernels}generated/x86-decode.h`]: decoders('x86/decode'),
  [`${kernels}generated/neon-decode.h`]: decoders('arm/neon/decode'),
  [`${kernels}generated/packed-formats.h`]: `${made}#pragma once\n${includes('packed/formats', packed)}`,
  [`${kernels}generated/simd-formats.h`]: `${made}#pragma once\n${includes('simd/formats', packed)}`,
  [at('../packages/backend-cpu/src/formats.ts')]: manifest(formats),
  [at('../packages/native-runtime/src/gpu-formats.ts')]: manifest(gpuFormats(), 'gpuFormats'),
};

const check = process.argv.includes('--check');
for (const [path, text] of Object.entries(files)) {
  const old = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (old === text) continue;
  if (!check) writeFileSync(path, text);
  else {
    console.error(`${path} is out of date: run node tools/generate-native-formats.mjs after nx build quant`);
    process.exitCode = 1;
  }
}
