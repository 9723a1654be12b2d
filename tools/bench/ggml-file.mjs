// Writes a Quern Whisper as a whisper.cpp model file, with the same tensors.
import { closeSync, createWriteStream, openSync, readSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { melFilters } from '../../packages/models/dist/index.js';
import { ggmlMagic, ggmlSizes, openGguf } from '../../packages/quant/dist/index.js';

/** whisper.cpp's file type per matrix format, and the ggml type of each format. */
const fileTypes = { f32: 0, f16: 1, q8_0: 2007 };
const types = { f32: 0, f16: 1, q8_0: 8 };

/** Frequencies per mel filter. */
const frequencies = 201;
/** Number of text tokens; whisper.cpp names the others itself. */
const endOfText = 50_257;

const words = (...values) => Buffer.from(Uint32Array.from(values).buffer);

function head(metadata, format) {
  const bands = metadata.get('whisper.n_mels');
  const tokens = metadata.get('tokenizer.ggml.tokens').slice(0, endOfText);
  return Buffer.concat([
    words(
      ggmlMagic,
      ...ggmlSizes.map((name) => (name === 'ftype' ? fileTypes[format] : metadata.get(`whisper.${name}`))),
    ),
    words(bands, frequencies),
    Buffer.from(melFilters(bands).buffer),
    words(tokens.length),
    ...tokens.flatMap((token) => [words(Buffer.byteLength(token)), Buffer.from(token)]),
  ]);
}

/** whisper.cpp stores biases of convolutions as columns. */
const storedShape = ({ name, shape }) => (/conv\d\.bias$/.test(name) ? [...shape, 1] : shape);

function bytesOf({ path, offset, byteLength }) {
  const [bytes, file] = [new Uint8Array(byteLength), openSync(path)];
  try {
    readSync(file, bytes, 0, byteLength, offset);
  } finally {
    closeSync(file);
  }
  return bytes;
}

function* parts(file, format) {
  yield head(file.metadata, format);
  for (const tensor of file.tensors) {
    const shape = storedShape(tensor);
    yield Buffer.concat([
      words(shape.length, tensor.name.length, types[tensor.format], ...[...shape].reverse()),
      Buffer.from(tensor.name),
      bytesOf(tensor),
    ]);
  }
}

/** Converts a GGUF of makeSyntheticSpeechModel with matrices in `format` (f32, f16 or q8_0) to a whisper.cpp file. */
export async function writeGgml(from, to, format) {
  await pipeline(parts(await openGguf(from), format), createWriteStream(to));
}
