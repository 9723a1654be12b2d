import type { WritableFormat } from '../format/formats.js';
import { formats, type GgufFormat } from '../format/formats.js';
import { formatInMix, type Mix, type Place, type Role } from './mixes.js';

/** The properties of a tensor that decide its format. */
export interface ShapedTensor<Format extends GgufFormat = GgufFormat> {
  readonly name: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly format: Format;
}

/** The properties of a model that mixes use: `Place` without the layer. */
export type MixedModel = Omit<Place, 'layer'> & {
  /** The embedding also serves as output, and gets the output's format. */
  readonly tied: boolean;
};

/** Format of a tensor in the new file. If its rows do not fit the mix's format: that format too. */
export interface ChosenFormat<Format extends GgufFormat = GgufFormat> {
  readonly format: Format;
  /** The blocks share scales (see encodeInt8). */
  readonly sharesScales?: true;
  readonly instead?: WritableFormat;
}

/** Parts of names of matrices that llama.cpp or whisper.cpp leaves unchanged: small and sensitive. */
const kept = [
  '_norm.weight',
  'ffn_gate_inp.weight',
  'position_embd.weight',
  'token_types.weight',
  'attn_rel_b.weight',
  '.conv1.weight',
  '.conv2.weight',
];

/** Whether a mix changes the tensor's format: matrices, except norms, routers, convolutions and position tables. */
export function isMixed({ name, shape }: Pick<ShapedTensor, 'name' | 'shape'>): boolean {
  return shape.length >= 2 && name.endsWith('weight') && !kept.some((part) => name.includes(part));
}

/** Format of a tensor with GGUF name `name` in a mix; its own format if the mix leaves it unchanged. */
export function chooseFormat<Format extends GgufFormat>(
  tensor: ShapedTensor<Format>,
  mix: Mix,
  model: MixedModel,
): ChosenFormat<Format | WritableFormat> {
  if (!isMixed(tensor)) return { format: tensor.format };
  const layer = Number(/^blk\.(\d+)\./.exec(tensor.name)?.[1] ?? 0);
  const ofExperts = tensor.shape.length === 3 ? mix.experts : undefined;
  const wanted = ofExperts ?? formatInMix(mix, roleOf(tensor.name, model.tied), { ...model, layer });
  const rowLength = tensor.shape.at(-1)!;
  const fits = (format: GgufFormat) => rowLength % formats[format].blockSize === 0;
  const shares = mix.sharesScales && wanted === 'q8_0';
  if (fits(wanted)) return { format: wanted, ...(shares && { sharesScales: true }) };
  const next = fallbacks[wanted];
  return { format: next && fits(next) ? next : 'f16', instead: wanted };
}

/** For rows that are not a multiple of 256: the next larger format with blocks of 32. */
const fallbacks: Readonly<Partial<Record<WritableFormat, WritableFormat>>> = {
  q2_k: 'q4_0',
  q3_k: 'q4_0',
  q4_k: 'q5_0',
  q5_k: 'q5_1',
  q6_k: 'q8_0',
  iq4_xs: 'iq4_nl',
};

const roles: readonly (readonly [part: string, role: Role])[] = [
  ['attn_v.weight', 'attentionV'],
  ['attn_k.weight', 'attentionK'],
  ['attn_qkv.weight', 'attentionQkv'],
  ['attn_output.weight', 'attentionOutput'],
  ['ffn_down', 'ffnDown'],
];

function roleOf(name: string, tied: boolean): Role {
  if (name === 'output.weight') return 'output';
  if (name === 'token_embd.weight') return tied ? 'output' : 'embedding';
  return roles.find(([part]) => name.includes(part))?.[1] ?? 'other';
}
