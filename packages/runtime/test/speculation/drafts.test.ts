import { DraftLength } from '../../src/speculation/draft-length.js';
import { Lookup } from '../../src/speculation/lookup.js';

const lookup = (options = {}) => new Lookup({ kind: 'lookup', ...options });

describe('lookup drafts', () => {
  test('the tokens after an earlier occurrence of the last tokens', async () => {
    const { tokens } = await lookup().draft([7, 1, 2, 3, 4, 5, 6, 8, 1, 2, 3], 2);
    expect(tokens).toEqual([4, 5]);
  });

  test('the longest match; at ties the last', async () => {
    expect((await lookup().draft([1, 2, 3, 10, 9, 2, 3, 20, 1, 2, 3], 1)).tokens).toEqual([10]);
    expect((await lookup().draft([1, 2, 3, 10, 1, 2, 3, 20, 1, 2, 3], 1)).tokens).toEqual([20]);
  });

  test('a repetition is continued', async () => {
    const repeating = lookup();
    const history = [5, 1, 2, 1, 2, 1, 2];
    for (let i = 0; i < 30; i++) {
      await repeating.draft(history, 6);
      repeating.learn(6, 6);
    }
    expect((await repeating.draft(history, 6)).tokens).toEqual([1, 2, 1, 2, 1, 2]);
  });

  test('no draft without repetition, or with too little', async () => {
    expect((await lookup().draft([1, 2, 3, 4], 8)).tokens).toEqual([]);
    expect((await lookup({ minNgram: 2 }).draft([1, 2, 3, 9, 3], 8)).tokens).toEqual([]);
    expect((await lookup().draft([1], 8)).tokens).toEqual([]);
  });

  test('never longer than the limit', async () => {
    const history = [1, 2, 3, 1, 2, 3, 1, 2, 3];
    const few = lookup({ maxDraft: 3 });
    for (let i = 0; i < 50; i++) {
      expect((await few.draft(history, 9)).tokens.length).toBeLessThanOrEqual(3);
      few.learn(3, 3);
      expect((await few.draft(history, 1)).tokens.length).toBe(1);
      few.learn(1, 1);
    }
  });

  test('few drafts if all are wrong', async () => {
    const wrong = lookup();
    let drafted = 0;
    for (let i = 0; i < 1000; i++) {
      const { tokens } = await wrong.draft([1, 2, 3, 9, 1, 2, 3], 10);
      drafted += tokens.length;
      if (tokens.length > 0) wrong.learn(tokens.length, 0);
    }
    expect(drafted).toBeGreaterThan(10); // it tries again
    expect(drafted).toBeLessThan(100);
  });
});

describe('draft length', () => {
  test('grows with accepted tokens, and shrinks to 0', () => {
    const length = new DraftLength(0.5, 0.2);
    for (let i = 0; i < 40; i++) length.learn(4, 4);
    expect(length.choose(10)).toBe(10);
    expect(length.choose(3)).toBe(3);
    for (let i = 0; i < 40; i++) length.learn(4, 0);
    expect(length.choose(10)).toBe(0);
  });

  test('maximises tokens per time', () => {
    // tokens per time by length: 1, 1.7/1.2, 2.19/1.4, 2.533/1.6, 2.7731/1.8, …; the maximum is at length 3
    expect(new DraftLength(0.7, 0.2).choose(10)).toBe(3);
    expect(new DraftLength(0.7, 0).choose(10)).toBe(10);
    expect(new DraftLength(0.7, 0.8).choose(10)).toBe(0);
  });

  test('shorter where calls share steps: each further row costs more of a call’s share', () => {
    const length = new DraftLength(0.7, 0.2);
    const lengths = [1, 2, 3, 4, 8, 64].map((calls) => length.choose(10, calls));
    expect(lengths).toEqual([3, 2, 1, 1, 1, 0]); // costs per share: 0.2, 0.33, 0.43, 0.5, 0.67, 0.94
  });

  test('no room, no draft', () => {
    for (const most of [0, -5]) expect(new DraftLength(0.9, 0.1).choose(most)).toBe(0);
  });
});
