import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** util-linux's `script` provides a terminal. */
const hasTerminal =
  process.platform === 'linux' && /util-linux/.test(String(spawnSync('script', ['--version']).stdout));
if (!hasTerminal) console.warn('tests at a terminal are skipped: there is no `script` of util-linux');
const atTerminal = hasTerminal ? test : test.skip;

/** A command at a terminal. `waitFor` waits for a text after the last found one. */
function open(args: string) {
  const child = spawn('script', ['-qec', `${process.execPath} ${cli} ${args}`, '/dev/null']);
  let shown = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  child.stdin.on('error', () => {});
  const finished = new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  const waitFor = async (text: string) => {
    for (let waits = 0; !shown.includes(text, seen) && child.exitCode === null && waits < 600; waits++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    if (!shown.includes(text, seen)) child.kill();
    if (!shown.includes(text, seen)) throw new Error(`'${text}' did not come: ${shown}`);
    seen = shown.indexOf(text, seen) + text.length;
  };
  return { waitFor, type: (text: string) => child.stdin.write(text), finished, shown: () => shown };
}

const ctrlC = '\x03';

atTerminal(
  'Ctrl-C stops an answer, clears a line, ends the chat at the second press on an empty line',
  async () => {
    const chat = open('chat demo --temperature 0 --backend reference');
    await chat.waitFor('> ');
    chat.type('Tell me a story\r');
    await chat.waitFor(' the '); // a word of every story, absent from the request
    chat.type(ctrlC);
    await chat.waitFor('> ');
    chat.type('half a line');
    await chat.waitFor('half a line');
    chat.type(ctrlC);
    await chat.waitFor('> ');
    chat.type('/help\r');
    await chat.waitFor('/reset clears');
    await chat.waitFor('> ');
    chat.type(ctrlC);
    await chat.waitFor('ends the chat');
    chat.type(ctrlC);
    expect(await chat.finished).toBe(130);
  },
);

atTerminal.each([
  ['run demo', /no prompt: give one with -p/],
  ['tokenize demo', /no text: give one as an argument/],
])('%s names the missing input', async (args, says) => {
  const command = open(args);
  expect(await command.finished).toBe(1);
  expect(command.shown()).toMatch(says);
});
