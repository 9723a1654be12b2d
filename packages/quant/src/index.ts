export type { BytesJob, DecodeJob, GroupedMatrix, RowsJob } from './decode/decode-job.js';
export { DecodePool } from './decode/decode-pool.js';
export { decodePiece, type Recipe } from './decode/recipe.js';
export { FileError, type FileErrorCode, FormatError, type FormatErrorCode } from './error.js';
export { byteLength } from './format/byte-length.js';
export { decode, decodeRows, encode, encodeAll } from './format/decode.js';
export { decodeF8Blocks, f8Blocks, hasF8Blocks, toF8Blocks } from './format/f8-blocks.js';
export {
  type FormatLayout,
  formatNames,
  formatOfType,
  formats,
  type GgufFormat,
  isGgufFormat,
  isWritable,
  type WritableFormat,
} from './format/formats.js';
export { ggmlTypeName } from './format/ggml-types.js';
export { encodeInt8 } from './format/int8.js';
export { decodeIq8, type Iq8Source, iq8, isIq8Source, toIq8 } from './format/iq8.js';
export { type GgmlFile, ggmlMagic, ggmlSizes, isGgml, openGgml } from './ggml/open.js';
export type { GgufFile, TensorInfo } from './gguf/gguf-file.js';
export type { MetadataType, MetadataValue, NumericArray } from './gguf/metadata.js';
export { openGguf } from './gguf/open.js';
export { type ParseGgufOptions, parseGguf } from './gguf/parse.js';
export { type GgufInput, type TensorData, type TensorInput, writeGguf } from './gguf/write.js';
export type { MetadataInput, TypedMetadata } from './gguf/write-metadata.js';
export { type F8Format, type F8Scales, f8Values, isF8Format } from './hugging-face/f8.js';
export { type GptqInMemory, GptqRows } from './hugging-face/gptq-rows.js';
export { InputFile } from './input-file.js';
export { describeBinary } from './native.js';
export {
  type ChosenFormat,
  chooseFormat,
  isMixed,
  type MixedModel,
  type ShapedTensor,
} from './quantize/choose-formats.js';
export { QuantizeError, type QuantizeErrorCode } from './quantize/error.js';
export type { ImportanceMatrix } from './quantize/importance.js';
export { readImportance } from './quantize/importance-matrix.js';
export { interleaveHeads } from './quantize/interleave-heads.js';
export { isMixName, type Mix, type MixName, mixes, mixNames } from './quantize/mixes.js';
export {
  type QuantizeOptions,
  type QuantizeSource,
  quantizeGguf,
  quantizeSchema,
  quantizeSource,
  type SourceTensor,
} from './quantize/quantize-gguf.js';
export type { TensorReport } from './quantize/tensor-report.js';
export {
  type DecodedPart,
  type FilePart,
  type OutputTensor,
  type QuantizedTensor,
  type TensorPart,
  type WriteQuantizedOptions,
  writeQuantized,
  writeQuantizedSchema,
} from './quantize/write-quantized.js';
export { readRegularFile } from './read-regular-file.js';
export type { SafetensorsDtype } from './safetensors/dtypes.js';
export { openSafetensors } from './safetensors/open.js';
export type { SafetensorsFile, SafetensorsTensor } from './safetensors/safetensors-file.js';
