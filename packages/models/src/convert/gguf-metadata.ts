import { type RopeOptions, ropeFrequencies } from '@quern/core';
import type { MetadataInput, TensorInput } from '@quern/quant';
import type { GgufForm } from '../architecture.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import { ModelError } from '../error.js';
import { inMemory } from './output-tensor.js';

type Entries = Record<string, MetadataInput>;

const float = (value: number): MetadataInput => ({ type: 'float32', value });

/**
 * llama.cpp's metadata of a decoder, prefixed with the architecture's GGUF name: what `decoderConfigFromGguf` reads.
 * @throws ModelError UNSUPPORTED_CONFIG for settings that GGUF cannot express.
 */
export function ggufMetadata(form: GgufForm, config: DecoderConfig): Entries {
  const { heads, kvHeads, headDim, rope } = config;
  const entries: Entries = {
    block_count: config.layers,
    context_length: config.context,
    embedding_length: config.width,
    feed_forward_length: config.feedForward,
    'attention.head_count': heads,
    'attention.head_count_kv': kvHeads,
    'attention.key_length': headDim,
    'attention.value_length': headDim,
    [`attention.layer_norm_${form.layerNorm ? '' : 'rms_'}epsilon`]: float(config.normEps),
    'rope.dimension_count': rope.rotaryDim ?? headDim,
    'rope.freq_base': float(rope.theta),
    vocab_size: config.vocabulary,
    ...mixtureEntries(form, config),
    ...windowEntries(form, config),
    ...windowRopeEntries(config),
    ...scoreEntries(config),
    ...form.metadata?.(config),
    ...(config.shortRope ? longRopeEntries(config) : scalingEntries(rope)),
  };
  return Object.fromEntries(Object.entries(entries).map(([key, value]) => [`${form.name}.${key}`, value]));
}

function mixtureEntries({ routed }: GgufForm, { mixture }: DecoderConfig): Entries {
  if (!mixture) return {};
  const { score, groups, scale, sharedFeedForward: shared } = mixture;
  return {
    expert_count: mixture.experts,
    expert_used_count: mixture.chosen,
    expert_feed_forward_length: mixture.feedForward,
    expert_weights_norm: mixture.renormalise,
    ...(routed && { leading_dense_block_count: mixture.sparse.indexOf(true) }),
    ...(score && { expert_gating_func: 2 }),
    ...(groups && { expert_group_count: groups.count, expert_group_used_count: groups.chosen }),
    ...(scale !== undefined && { expert_weights_scale: float(scale) }),
    ...(shared && {
      expert_shared_count: Math.ceil(shared / mixture.feedForward),
      expert_shared_feed_forward_length: shared,
    }),
  };
}

const notExpressible = (what: string) =>
  new ModelError('UNSUPPORTED_CONFIG', `${what}: GGUF files of this architecture cannot express this`);

function windowEntries({ windowPeriod }: GgufForm, { windows }: DecoderConfig): Entries {
  const window = Math.max(0, ...windows);
  const sizes = new Set(windows.filter((size) => windowPeriod === undefined || size > 0));
  if (sizes.size > 1) throw notExpressible('the layers have different windows');
  if (window === 0) return {};
  return {
    'attention.sliding_window': window,
    ...(windowPeriod !== undefined && { 'attention.sliding_window_pattern': patternOf(windows) }),
  };
}

/** n if exactly every n-th layer has full attention, 0 if no layer has; else a flag per layer: true = window. */
function patternOf(windows: readonly number[]): MetadataInput {
  const first = windows.indexOf(0) + 1;
  const isPeriodic = windows.every((size, i) => (size === 0) === (first > 0 && (i + 1) % first === 0));
  return isPeriodic ? first : { type: 'array', value: windows.map((size) => size > 0) };
}

function windowRopeEntries({ windowRope }: DecoderConfig): Entries {
  if (!windowRope) return {};
  if (windowRope.scaling) throw notExpressible('layers with a window have RoPE scaling');
  return { 'rope.freq_base_swa': float(windowRope.theta) };
}

function scoreEntries({ attentionScale, attentionCap, logitCap }: DecoderConfig): Entries {
  return {
    ...(attentionScale !== undefined && { 'attention.scale': float(attentionScale) }),
    ...(attentionCap !== undefined && { attn_logit_softcapping: float(attentionCap) }),
    ...(logitCap !== undefined && { final_logit_softcapping: float(logitCap) }),
  };
}

/** LongRoPE's factors are tensors: `ropeTensors`. */
function longRopeEntries({ rope, shortRope }: DecoderConfig): Entries {
  const factor = rope.scaling?.kind === 'factors' ? rope.scaling.attentionFactor : undefined;
  return {
    'rope.scaling.original_context_length': shortRope!.context,
    'rope.scaling.attn_factor': float(factor ?? 1),
  };
}

function scalingEntries({ scaling }: RopeOptions): Entries {
  switch (scaling?.kind) {
    case 'linear':
      return { 'rope.scaling.type': 'linear', 'rope.scaling.factor': float(scaling.factor) };
    case 'yarn': {
      if (scaling.truncate === false) return { 'rope.scaling.attn_factor': float(yarnMagnitude(scaling)) };
      const own = 0.1 * Math.log(scaling.factor) + 1;
      return {
        'rope.scaling.type': 'yarn',
        'rope.scaling.factor': float(scaling.factor),
        'rope.scaling.original_context_length': scaling.originalContext,
        'rope.scaling.yarn_beta_fast': float(scaling.betaFast ?? 32),
        'rope.scaling.yarn_beta_slow': float(scaling.betaSlow ?? 1),
        'rope.scaling.attn_factor': float((scaling.attentionFactor ?? own) / own),
      };
    }
    case 'ntk':
      throw new ModelError('UNSUPPORTED_CONFIG', 'GGUF files cannot express a scaled RoPE base (NTK)');
    default:
      return {}; // Llama 3's scaling and given factors are tensors: `ropeTensors`
  }
}

type Yarn = Extract<RopeOptions['scaling'], { kind: 'yarn' }>;
const yarnMagnitude = ({ attentionFactor, factor }: Yarn) => attentionFactor ?? 0.1 * Math.log(factor) + 1;

/** Divisors of the frequencies, for the scalings that GGUF stores as tensors [R / 2]. */
export function ropeTensors({ rope, shortRope, headDim }: DecoderConfig): readonly TensorInput[] {
  const named: readonly (readonly [string, RopeOptions])[] = shortRope
    ? [
        ['rope_factors_long.weight', rope],
        ['rope_factors_short.weight', shortRope.rope],
      ]
    : [['rope_freqs.weight', rope]];
  return named.flatMap(([name, options]) => {
    const factors = ropeFactors(options, headDim);
    return factors ? [inMemory(name, [factors.length], factors)] : [];
  });
}

function ropeFactors(rope: RopeOptions, headDim: number): Float32Array | undefined {
  if (rope.scaling?.kind === 'factors') return Float32Array.from(rope.scaling.factors);
  if (rope.scaling?.kind !== 'llama3' && !isUnroundedYarn(rope)) return undefined;
  const { scaling: _, ...plain } = rope;
  const unscaled = ropeFrequencies(plain, headDim).frequencies;
  const { frequencies } = ropeFrequencies(rope, headDim);
  return frequencies.map((frequency, i) => unscaled[i]! / frequency);
}

/** YaRN as GGUF has it rounds the ends of its ramp. */
export const isUnroundedYarn = ({ scaling }: RopeOptions): boolean =>
  scaling?.kind === 'yarn' && scaling.truncate === false;
