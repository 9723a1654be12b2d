/** What the path of a GGUF file says. */
export interface GgufName {
  readonly path: string;
  /** Path without '-00001-of-00003' and extension: equal for the files of a split model. */
  readonly stem: string;
  /** In capitals: 'Q4_K_M', 'UD-Q4_K_XL', 'F16'. Absent: the path has none. */
  readonly quantisation: string | undefined;
  /** From 1. */
  readonly index: number;
  /** Files of the model. */
  readonly count: number;
}

/** Names of llama.cpp's types, and of Unsloth's mixes (UD-…). */
const quantisation =
  /(?:^|[-._/])((?:UD-)?(?:I?Q\d+(?:_[A-Z0-9]+)*|TQ\d_\d|BF16|FP?16|FP?32|MXFP4(?:_MOE)?|NVFP4))(?=$|[-._/])/gi;

const split = /-(\d{5})-of-(\d{5})$/;

/** 'FP16' is llama.cpp's F16. */
const canonical = (name: string): string => name.toUpperCase().replace(/^FP(16|32)$/, 'F$1');

/** The last quantisation of the file's name, else that of its folders. */
function quantisationOf(stem: string): string | undefined {
  const at = stem.lastIndexOf('/');
  const found = [stem.slice(at + 1), stem.slice(0, Math.max(0, at))].map((part) =>
    [...part.matchAll(quantisation)].at(-1),
  );
  const name = (found[0] ?? found[1])?.[1];
  return name === undefined ? undefined : canonical(name);
}

/** Reads the path of a GGUF file. */
export function ggufName(path: string): GgufName {
  const whole = path.replace(/\.gguf$/i, '');
  const [, index = '1', count = '1'] = split.exec(whole) ?? [];
  const stem = whole.replace(split, '');
  return { path, stem, quantisation: quantisationOf(stem), index: Number(index), count: Number(count) };
}

/** The name of a quantisation as the caller spells it: 'q4_k_m', 'fp16'. */
export const sameQuantisation = (a: string, b: string): boolean => canonical(a) === canonical(b);
