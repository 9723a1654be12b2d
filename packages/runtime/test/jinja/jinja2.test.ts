import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, run } from '../../src/chat/run-template.js';
import { Converter } from '../../src/jinja/index.js';

interface Case {
  readonly template: string;
  /** Absent: jinja2 fails. */
  readonly expected?: string;
}

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const { variables, cases }: { variables: Record<string, unknown>; cases: readonly Case[] } = JSON.parse(
  readFileSync(file('cases.json'), 'utf8'),
);
const now = new Date(2025, 7, 3, 14, 5, 9);

/** Our engine's output; undefined for an error that a template may cause. */
function render(template: string): string | undefined {
  const given = (converter: Converter) =>
    new Map(Object.entries(variables).map(([name, value]) => [name, converter.convert(value, true)]));
  try {
    return run(parse(template), given, new Converter(), now).value;
  } catch (error) {
    if (error instanceof Error && error.name === 'ChatTemplateError') return undefined;
    throw error;
  }
}

test.each(cases)('as jinja2: $template', ({ template, expected }) => {
  expect(render(template)).toBe(expected);
});

const python = spawnSync('python3', ['-c', 'import jinja2']);
if (python.status !== 0) console.warn('cases.json is not held against jinja2: python3 has no jinja2 here');

(python.status === 0 ? test : test.skip)('cases.json equals jinja2’s output', () => {
  const { status, stderr } = spawnSync('python3', [file('oracle.py'), '--check'], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
