import type { Command } from 'commander';
import { program } from '../src/program.js';
import { quern } from './cli.js';

/** The commands with their paths: 'bench serve'. */
function commandsOf(command: Command, parent = ''): [path: string, command: Command][] {
  return command.commands.flatMap((each): [string, Command][] => {
    const path = `${parent}${each.name()}`;
    return [[path, each], ...commandsOf(each, `${path} `)];
  });
}

const all = commandsOf(program()).filter(([path]) => path !== 'help');

async function helpOf(path: string): Promise<string> {
  const { code, stdout } = await quern([...path.split(' '), '--help']);
  expect(code).toBe(0);
  return stdout;
}

/** The words of a command line; quoted ones are one word. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"[^"]*"|\S+/g)].map(([word]) => word.replace(/^"|"$/g, ''));

test.each(all)('%s: examples of options that it has', async (path, command) => {
  const [, examples = ''] = (await helpOf(path)).split('\nExamples:\n');
  const typed = examples.split('\n').filter((line) => /^ {2}\S/.test(line));
  expect(typed.length).toBeGreaterThan(0);
  for (const line of typed) {
    expect(line).toContain(`quern ${path}`);
    const own = wordsOf(line.slice(line.indexOf(`quern ${path}`)));
    for (const flag of own.filter((word) => /^--?[a-z]/.test(word)))
      expect(command.options.flatMap(({ long, short }) => [long, short])).toContain(flag);
  }
});

test('every command has --quiet and --verbose', () => {
  for (const [path, command] of all) {
    const names = command.options.map(({ long }) => long);
    expect([path, names.includes('--quiet'), names.includes('--verbose')]).toEqual([path, true, true]);
  }
});
