// Quern's own architectures use only what @quern/models exports: a package can hold every one of them.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../src/', import.meta.url));
const read = (path: string): string => readFileSync(join(source, path), 'utf8');

/** The names of `export { a, type B } from './x.js'` or of imports, with their modules relative to src/. */
function namesIn(path: string, word: 'import' | 'export'): readonly (readonly [string, string])[] {
  const statements = read(path).matchAll(
    new RegExp(`^${word} (?:type )?\\{([^}]*)\\} from '(\\.[^']*)';`, 'gm'),
  );
  return [...statements].flatMap(([, names = '', module = '']) =>
    names
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== '')
      .map((name) => [name, join(dirname(path), module)] as const),
  );
}

const exported = new Map(namesIn('index.ts', 'export'));

test.each([
  'llama',
  'mistral',
  'mixtral',
  'qwen2',
  'qwen3',
  'qwen3-moe',
  'gemma2',
  'gemma3',
  'phi3',
  'gpt-neox',
  'gpt2',
  'falcon',
  'encoder/bert',
  'encoder/roberta',
  'encoder/nomic-bert',
])('%s', (name) => {
  const used = namesIn(`${name}.ts`, 'import');
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter(([each, module]) => exported.get(each) !== module)).toEqual([]);
});
