import { e4m3Values, f32ToE4m3 } from '../src/index.js';

const finite = Array.from({ length: 0x7f }, (_, bits) => bits);

test('the values of E4M3', () => {
  expect([0, 1, 7, 8, 0x38, 0x7e, 0x80].map((bits) => e4m3Values[bits])).toEqual([
    0,
    2 ** -9,
    7 * 2 ** -9,
    2 ** -6,
    1,
    448,
    -0,
  ]);
  expect([e4m3Values[0x7f], e4m3Values[0xff]]).toEqual([Number.NaN, Number.NaN]);
});

test('every E4M3 comes back from its value', () => {
  for (const bits of finite)
    expect([f32ToE4m3(e4m3Values[bits]!), f32ToE4m3(-e4m3Values[bits]!)]).toEqual([bits, bits | 0x80]);
});

test('a number between two goes to the nearer, a tie to the even one', () => {
  for (const bits of finite.slice(0, -1)) {
    const [low, high] = [e4m3Values[bits]!, e4m3Values[bits + 1]!];
    const near = (share: number) => f32ToE4m3(Math.fround(low + (high - low) * share));
    expect([near(0.499), near(0.5), near(0.501)]).toEqual([bits, bits + (bits % 2), bits + 1]);
  }
});

test('what is too large becomes ±448; NaN stays NaN', () => {
  expect([449, 500, Infinity, -1e9].map(f32ToE4m3)).toEqual([0x7e, 0x7e, 0x7e, 0xfe]);
  expect(f32ToE4m3(Number.NaN)).toBe(0x7f);
});
