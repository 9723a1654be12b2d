import fc from 'fast-check';
import { runs } from '../../../../test-scope.js';
import { StopMatcher } from '../../src/tokenizer/index.js';

/** The definition: the text up to the first complete stop string; of two that end together, the longer. */
function cut(text: string, stops: string[]): { text: string; stopped: string | undefined } {
  for (let end = 0; end <= text.length; end++) {
    const ending = stops
      .filter((stop) => text.slice(0, end).endsWith(stop))
      .sort((a, b) => b.length - a.length);
    if (ending[0] !== undefined) return { text: text.slice(0, end - ending[0].length), stopped: ending[0] };
  }
  return { text, stopped: undefined };
}

function run(pieces: string[], stops: string[]): { text: string; stopped: string | undefined } {
  const matcher = new StopMatcher(stops);
  let text = '';
  let stopped: string | undefined;
  for (const piece of pieces) {
    const result = matcher.push(piece);
    text += result.text;
    stopped = result.stopped;
  }
  return { text: text + matcher.flush(), stopped };
}

const ab = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 0, maxLength: 12 });
const someStops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }), {
  maxLength: 3,
});

test('equals the definition for every split of the text', () => {
  fc.assert(
    fc.property(fc.array(ab, { maxLength: 6 }), someStops, (pieces, stops) => {
      expect(run(pieces, stops)).toEqual(cut(pieces.join(''), stops));
    }),
    { numRuns: runs(2000) },
  );
});

test('holds back only the start of a possible stop string', () => {
  const matcher = new StopMatcher(['</end>', 'User:']);
  expect(matcher.push('Hello Us')).toEqual({ text: 'Hello ' });
  expect(matcher.push('ual')).toEqual({ text: 'Usual' });
  expect(matcher.push(' <')).toEqual({ text: ' ' });
  expect(matcher.push('/e')).toEqual({ text: '' });
  expect(matcher.push('nd> more')).toEqual({ text: '', stopped: '</end>' });
  expect(matcher.push('more')).toEqual({ text: '', stopped: '</end>' });
  expect(matcher.flush()).toBe('');
});

test('without stop strings, text passes through', () => {
  expect(new StopMatcher([]).push('text')).toEqual({ text: 'text' });
});

test('an empty stop string is refused', () => {
  expect(() => new StopMatcher(['a', ''])).toThrow(
    expect.objectContaining({ name: 'TokenizerError', code: 'BAD_STOP' }),
  );
});
