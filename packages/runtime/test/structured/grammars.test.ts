import type { Grammar } from '@quern/grammar';
import { Grammars } from '../../src/structured/grammars.js';

/** The grammars that are kept, in the order of their use. */
const kept = (grammars: Grammars) => [
  ...(Reflect.get(grammars, 'compiled') as Map<string, Promise<Grammar>>).values(),
];

const structure = () => ({ sequence: [{ literal: 'f' }, { schema: { type: 'integer' } }] });
const rules = () => ({ structure: { whole: structure() }, parts: new Map(), marks: new Set<number>() });

test('equal tools are compiled once, also at the same time', async () => {
  const grammars = new Grammars(undefined, 8); // no tokenizer: only the vocabulary fails
  const both = [grammars.constraint({}, rules()), grammars.constraint({}, rules())];
  for (const one of both) await expect(one).rejects.toMatchObject({ code: 'NO_TOKENIZER' });
  const [first, ...others] = kept(grammars);
  expect(others).toEqual([]);
  await expect(grammars.constraint({}, rules())).rejects.toMatchObject({ code: 'NO_TOKENIZER' });
  expect(kept(grammars)).toEqual([first]);
  await expect(grammars.constraint({ keyOrder: 'any' }, rules())).rejects.toMatchObject({
    code: 'NO_TOKENIZER',
  });
  expect(kept(grammars)).toHaveLength(2);
});
