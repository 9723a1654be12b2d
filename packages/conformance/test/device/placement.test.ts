// Where the test device places temporaries: no two share memory while both live.
import { coreOps, regions } from '@quern/core';
import { Placement } from './thread/placement.js';
import type { Operand, OpRecord } from './thread/read-plan.js';

const tensor = (byteOffset: number, floats: number): Operand => ({
  ...{ region: regions.arena, id: 0, byteOffset },
  ...{ dtype: 'f32', shape: [floats] },
});

const record = (x: Operand, y: Operand): OpRecord => ({
  ...{ op: coreOps.silu, attributes: {}, operands: { x }, rounded: [] },
  outputs: [{ ...y, narrowed: false }],
});

/** Temporaries of 1 to 64 floats in a virtual arena; each lives for 1 to 6 ops. */
function randomLifetimes(count: number) {
  let state = 1;
  const next = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  let offset = 0;
  return Array.from({ length: count }, (_, first) => {
    const own = { offset, floats: 1 + next(64), first, last: first + next(6) };
    offset += Math.ceil((4 * own.floats) / 64) * 64;
    return own;
  });
}

const temporaries = randomLifetimes(300);
const placement = new Placement(
  Float64Array.from(
    temporaries.flatMap(({ offset, floats, first, last }) => [offset, 4 * floats, first, last]),
  ),
);

const placeAt = (op: number, { offset, floats }: (typeof temporaries)[number]): number =>
  placement.onDevice(record(tensor(offset, floats), tensor(offset, floats)), op).outputs[0]!.byteOffset;

test('temporaries that live together lie apart, in less memory than all of them', () => {
  for (const [i, one] of temporaries.entries())
    for (const other of temporaries.slice(i + 1)) {
      if (other.first > one.last) break;
      const [a, b] = [placeAt(one.first, one), placeAt(other.first, other)];
      expect(a + 4 * one.floats <= b || b + 4 * other.floats <= a).toBe(true);
    }
  const { offset, floats } = temporaries.at(-1)!;
  expect(placement.byteLength).toBeLessThan((offset + 4 * floats) / 10);
});

test('a slice keeps its distance from the beginning', () => {
  const one = temporaries.find(({ floats }) => floats > 8)!;
  const slice = record(tensor(one.offset + 16, 4), tensor(one.offset, one.floats));
  const moved = placement.onDevice(slice, one.first);
  expect(moved.operands.x!.byteOffset - moved.outputs[0]!.byteOffset).toBe(16);
});

test('a temporary is refused before its lifetime, after it, and beyond its end', () => {
  const one = temporaries.find(({ first, last }) => first > 0 && last > first)!;
  const malformed = expect.objectContaining({ code: 'BAD_ARGUMENT' });
  for (const op of [one.first - 1, one.last + 1]) expect(() => placeAt(op, one)).toThrow(malformed);
  expect(() => placeAt(one.first, { ...one, floats: one.floats + 1 })).toThrow(malformed);
  for (const op of [one.first, one.last]) expect(placeAt(op, one)).toBe(placeAt(one.first, one));
  const ranges = placement.endingAt(one.last);
  expect(ranges).toContainEqual([placeAt(one.first, one), placeAt(one.first, one) + 4 * one.floats]);
});
