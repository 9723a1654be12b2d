import type { EncoderFile, ModelFile } from '@quern/models';
import { mixes } from '@quern/quant';

/** What the file of a loaded model holds, for lists of models. */
export interface LoadedFile {
  readonly kind: 'gguf' | 'safetensors';
  /** Elements of all weights. */
  readonly parameters: number;
  /** Bytes of the weights in the file. */
  readonly byteLength: number;
  /** The mix that a GGUF file names ('q4_k_m'), else the format of most bytes ('bf16'). */
  readonly format: string;
}

interface Costs {
  readonly parameters: number;
  readonly weightBytes: number;
}

/** @param costs those of the weights as they are in the file */
export const loadedFile = (
  file: ModelFile | EncoderFile,
  { parameters, weightBytes }: Costs,
): LoadedFile => ({
  kind: file.kind === 'gguf' ? 'gguf' : 'safetensors',
  parameters,
  byteLength: weightBytes,
  format: mixOf(file) ?? mainFormat(file),
});

function mixOf(file: ModelFile | EncoderFile): string | undefined {
  const type = file.kind === 'gguf' ? file.metadata.get('general.file_type') : undefined;
  if (type === undefined) return undefined;
  return Object.entries(mixes).find(([, { fileType }]) => fileType === Number(type))?.[0];
}

function mainFormat({ weights }: ModelFile | EncoderFile): string {
  const bytes = new Map<string, number>();
  for (const { format, bytes: slice } of weights.tensors.values())
    bytes.set(format, (bytes.get(format) ?? 0) + slice.byteLength);
  return [...bytes].reduce((most, each) => (each[1] > most[1] ? each : most), ['', -1])[0];
}
