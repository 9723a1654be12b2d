import { coreOps, f32ToF16, type GptqSource } from '@quern/core';
import { normal } from '@quern/core/testing';
import { type GptqInMemory, GptqRows } from '@quern/quant';
import type { Case, Suite } from '../case.js';
import { checkOutcome, define } from '../ops/expect.js';
import { fresh } from '../ops/fresh.js';
import { Dice } from '../values/dice.js';
import { numbersOf } from '../values/numbers.js';
import { refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const suite = 'quantGptq';
const on = fresh(suite);

interface Variant {
  readonly name: string;
  readonly groupSize: number;
  readonly version: 1 | 2;
  readonly symmetric?: boolean;
  /** Columns have groups in random order, as after act-order. */
  readonly ordered?: boolean;
}

const variants: readonly Variant[] = [
  { name: 'symmetric, groups of 32', groupSize: 32, version: 1, symmetric: true },
  { name: 'any zero points, groups of 64', groupSize: 64, version: 1 },
  { name: 'version 2, one group', groupSize: -1, version: 2 },
  { name: 'groups that do not divide K', groupSize: 24, version: 1 },
  { name: 'act-order', groupSize: 32, version: 1, symmetric: true, ordered: true },
  { name: 'act-order, any zero points', groupSize: 64, version: 2, ordered: true },
];

/** A random matrix [N, K]. */
function randomSource(
  bits: 4 | 8,
  { groupSize, version, symmetric, ordered }: Variant,
  N: number,
  K: number,
): GptqInMemory {
  const dice = new Dice(bits + N);
  const size = groupSize === -1 ? K : groupSize;
  const groups = Math.ceil(K / size);
  const words = (count: number, word: () => number) =>
    new Uint8Array(Int32Array.from({ length: count }, word).buffer);
  const anyWord = () => dice.int(-(2 ** 31), 2 ** 31 - 1);
  const middle =
    (bits === 4 ? 0x88888888 : 0x80808080) - (version === 1 ? (bits === 4 ? 0x11111111 : 0x01010101) : 0);
  const inOrder = Array.from({ length: K }, (_, k) => Math.floor(k / size));
  const shuffled = dice.permutation(K).map((k) => inOrder[k]!);
  return {
    name: 'w',
    shape: [N, K],
    bits,
    groupSize,
    version,
    qweight: words((K * N * bits) / 32, anyWord),
    qzeros: words((groups * N * bits) / 32, symmetric ? () => middle : anyWord),
    scales: new Uint8Array(
      Uint16Array.from({ length: groups * N }, () => f32ToF16(dice.int(1, 99) / 1000)).buffer,
    ),
    groupIndex: ordered ? new Uint8Array(Int32Array.from(shuffled).buffer) : undefined,
  };
}

const sizes = [
  [1, 8],
  [7, 24],
  [19, 40],
] as const;

function linearCase(bits: 4 | 8, variant: Variant): Case {
  return on(`linear, ${bits} bits, ${variant.name}`, async (backend) => {
    for (const [T, N] of sizes) {
      const K = 128;
      const source = randomSource(bits, variant, N, K);
      const values = new Float32Array(N * K);
      new GptqRows(source).decode(0, N, values);
      using w = await backend.quantGptq!.loadWeight(source);
      const x = normal(T, [T, K]);
      using step = backend.step();
      const y = backend.linear(step.input(Float32Array.from(x.values), [T, K]), w);
      const got = numbersOf(await step.read(y), 'f32', [T, N]);
      const operands = { x, w: { shape: [N, K], format: 'gptq', values, bytes: source.qweight } };
      const sample = { name: variant.name, operands, attributes: {} };
      checkOutcome(coreOps.linear, sample, { outputs: [got], buffers: {} }, define(coreOps.linear, sample));
    }
  });
}

function refusals(bits: 4 | 8): Case[] {
  const source = randomSource(bits, variants[0]!, 16, 64);
  const broken: Readonly<Record<string, Partial<GptqSource>>> = {
    'weights cut short': { qweight: new Uint8Array(4) },
    'too few zero points': { groupSize: 16 },
    'a shape of partial words': { shape: [13, 64] },
    'groups of size 0': { groupSize: 0 },
    'a column with a group outside the matrix': {
      groupIndex: new Uint8Array(Int32Array.from({ length: 64 }, () => 2).buffer),
    },
  };
  return Object.entries(broken).map(([name, change]) =>
    on(`${bits} bits: ${name}`, async (backend) => {
      await refusal('BAD_WEIGHT', () => backend.quantGptq!.loadWeight({ ...source, ...change }));
      await proveUsable(backend);
    }),
  );
}

/** Matrices of every kind against their floats. */
export const quantGptq: Suite = (lab) =>
  [...(lab.backend.quantGptq?.bits ?? [])].flatMap((bits) => [
    ...variants.map((variant) => linearCase(bits, variant)),
    ...refusals(bits),
  ]);
