import { coreOps, type FusedOpName, fusedOps, moeInputs, type WeightFormat } from '@quern/core';
import { integers, normal } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import type { Codec } from '../conformance-options.js';
import type { Lab } from '../lab.js';
import { fresh } from '../ops/fresh.js';
import { coreCase } from '../ops/op-case.js';
import { randomWeight } from '../values/random-weight.js';
import { refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';
import { fusedCase } from './fused.js';
import { moeCase } from './moe-fused.js';
import { blocksInParts } from './weight-parts.js';

const suite = 'quantGguf';
const on = fresh(suite);

/** T rows, N outputs, blocks along K. */
const sizes = [
  [1, 1, 1],
  [1, 37, 2],
  [2, 16, 3],
  [5, 8, 1],
  [19, 33, 2],
] as const;

function linearCases(lab: Lab, codec: Codec): Case[] {
  return sizes.map(([T, N, blocks], seed) => {
    const w = randomWeight(codec, seed, [N], blocks);
    const bias = seed === 1 && { bias: normal(seed, [N]) };
    const operands = { x: normal(seed + 9, [T, w.shape[1]!]), w, ...bias };
    return coreCase(lab, suite, coreOps.linear, {
      name: `${codec.format} [${T}, ${w.shape[1]}] · [${w.shape}]ᵀ`,
      operands,
      attributes: {},
    });
  });
}

function expertCases(lab: Lab, codec: Codec): Case[] {
  const products = [
    [1, 3],
    [5, 2],
    [40, 1],
  ].map(([R, k]) => {
    const w = randomWeight(codec, 80 + R!, [3, 17], 2);
    return coreCase(lab, suite, coreOps.expertLinear, {
      name: `${codec.format} [${R}, ${w.shape[2]}] with ${k} of [${w.shape}]`,
      operands: { x: normal(R!, [R!, w.shape[2]!]), w, ids: integers(R! + 1, [R!, k!], 3) },
      attributes: {},
    });
  });
  if (!lab.backend.moeFused || !lab.support('moe')?.weightFormats?.includes(codec.format)) return products;
  const K = codec.blockSize;
  const mixtures = [
    [1, 2],
    [20, 1],
  ].map(([T, E]) => {
    const operands = {
      ...moeInputs(90 + T!, [T!, K, E!], 1),
      gate: randomWeight(codec, 91, [E!, K], 1),
      up: randomWeight(codec, 92, [E!, K], 1),
      down: randomWeight(codec, 93, [E!, K], 1),
    };
    const attributes = { chosen: 1, renormalise: 0 };
    return moeCase(lab, suite, { name: `${codec.format}, ${T} rows`, operands, attributes });
  });
  return [...products, ...mixtures];
}

function embedCases(lab: Lab, codec: Codec): Case[] {
  const table = randomWeight(codec, 77, [11], 2);
  const operands = { table, ids: integers(5, [9], 11) };
  return [coreCase(lab, suite, coreOps.embed, { name: `${codec.format} rows`, operands, attributes: {} })];
}

/** The fused projections that claim this format. */
function fusedCases(lab: Lab, codec: Codec): Case[] {
  const claimed = (name: FusedOpName) => lab.support(name)?.weightFormats?.includes(codec.format);
  const weight = (seed: number, N: number) => randomWeight(codec, seed, [N], 2);
  const x = (T: number) => normal(T, [T, 2 * codec.blockSize], 0.1);
  const projections = [1, 6, 18].flatMap(
    (T) =>
      [
        { op: 'gateUpSwiglu', operands: { x: x(T), gate: weight(1, 21), up: weight(2, 21) } },
        { op: 'qkvLinear', operands: { x: x(T), q: weight(3, 24), k: weight(4, 8), v: weight(5, 8) } },
      ] as const,
  );
  // Few rows: with more rows, the two largest of 50 products more often differ by less than the allowed rounding.
  const choices = [1, 6].map(
    (T) => ({ op: 'linearArgmax', operands: { x: x(T), w: weight(6, 50) } }) as const,
  );
  const cases = [...projections, ...choices];
  return cases
    .filter(({ op }) => op in fusedOps && claimed(op))
    .map(({ op, operands }) =>
      fusedCase(lab, suite, op, {
        name: `${codec.format}, ${operands.x.shape[0]} rows`,
        operands,
        attributes: {},
      }),
    );
}

function refusals(codec: Codec): Case[] {
  const weight = randomWeight(codec, 3, [4], 1);
  const source = { name: 'broken', shape: weight.shape, format: codec.format };
  return [
    on(`${codec.format}: too few bytes`, async (backend) => {
      const bytes = weight.bytes.subarray(1);
      await refusal('BAD_WEIGHT', () => backend.loadWeight({ ...source, bytes }));
      await proveUsable(backend);
    }),
    on(`${codec.format}: rows that are not whole blocks`, async (backend) => {
      const shape = [2 * codec.blockSize, 2]; // the number of elements of two rows of two blocks
      const bytes = randomWeight(codec, 3, [2], 2).bytes;
      await refusal('BAD_WEIGHT', () => backend.loadWeight({ ...source, shape, bytes }));
      await proveUsable(backend);
    }),
  ];
}

function formatCases(lab: Lab, format: WeightFormat): Case[] {
  const codec = lab.options.codecs?.find((known) => known.format === format);
  if (codec)
    return [
      ...linearCases(lab, codec),
      ...expertCases(lab, codec),
      ...embedCases(lab, codec),
      ...fusedCases(lab, codec),
      ...refusals(codec),
      ...blocksInParts(suite, codec),
    ];
  return [
    {
      suite,
      name: format,
      async run() {
        throw new Error(
          `the driver declares ${format}, but no codec for it was given: pass it in options.codecs`,
        );
      },
    },
  ];
}

/** Every declared format against the floats of its codec. */
export const quantGguf: Suite = (lab) =>
  [...(lab.backend.quantGguf?.formats ?? [])].flatMap((format) => formatCases(lab, format));
