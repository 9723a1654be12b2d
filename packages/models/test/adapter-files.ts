import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MetadataInput, type TensorInput, writeGguf } from '@quern/quant';
import { scratch } from './model-files.js';
import { type Parameters, randomParameters, type Shapes, writeSafetensors } from './random-folder.js';

/** The pairs of matrices [N, K] with rank r, under PEFT's names. */
export function peftPairs(matrices: Shapes, rank: number): Parameters {
  const shapes = Object.entries(matrices).flatMap(([name, [N, K]]) => {
    const module = `base_model.model.${name.replace(/\.weight$/, '')}`;
    return [
      [`${module}.lora_A.weight`, [rank, K!]],
      [`${module}.lora_B.weight`, [N!, rank]],
    ] as const;
  });
  return randomParameters(Object.fromEntries(shapes), 0.3);
}

export const peftConfig = { peft_type: 'LORA', r: 4, lora_alpha: 8, bias: 'none', use_dora: false };

/** Writes an adapter in PEFT's layout; returns its folder. */
export function writePeft(name: string, pairs: Parameters, config: object = peftConfig): string {
  const folder = scratch(name);
  mkdirSync(folder, { recursive: true });
  writeSafetensors(join(folder, 'adapter_model.safetensors'), pairs);
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
  return folder;
}

/** Values [N, K] of W + scale · B · A, for every matrix that has a pair. */
export function merged(parameters: Parameters, pairs: Parameters, scale: number): Parameters {
  return new Map(
    Array.from(parameters, ([name, { shape, values }]) => {
      const module = `base_model.model.${name.replace(/\.weight$/, '')}`;
      const a = pairs.get(`${module}.lora_A.weight`);
      const b = pairs.get(`${module}.lora_B.weight`);
      if (!a || !b) return [name, { shape, values }] as const;
      const [N, K] = shape as [number, number];
      const r = a.shape[0]!;
      const changed = values.slice();
      for (let n = 0; n < N; n++)
        for (let k = 0; k < K; k++) {
          let sum = 0;
          for (let j = 0; j < r; j++) sum += b.values[n * r + j]! * a.values[j * K + k]!;
          changed[n * K + k] = values[n * K + k]! + scale * sum;
        }
      return [name, { shape, values: changed }] as const;
    }),
  );
}

/** Writes an adapter as llama.cpp's converter does. `rename` gives the GGUF name of a module. */
export async function writeGgufAdapter(
  name: string,
  pairs: Parameters,
  rename: (module: string) => string,
  metadata: Readonly<Record<string, MetadataInput>> = {},
): Promise<string> {
  const tensors: TensorInput[] = Array.from(pairs, ([tensor, { shape, values }]) => {
    const [, module, side] = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/.exec(tensor)!;
    const data = new Uint8Array(values.buffer);
    return { name: `${rename(module!)}.weight.lora_${side!.toLowerCase()}`, shape, format: 'f32', data };
  });
  const all = {
    'general.architecture': 'qwen3',
    'general.type': 'adapter',
    'adapter.type': 'lora',
    'adapter.lora.alpha': { type: 'float32', value: 8 } as const,
    ...metadata,
  };
  await writeGguf(scratch(name), { metadata: all, tensors });
  return scratch(name);
}
