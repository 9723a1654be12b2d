import { program } from '../program.js';
import { confirmed } from '../terminal/ask.js';
import { write } from '../terminal/write.js';
import { lookAround } from './look-around.js';
import { showHome } from './show-home.js';

/** The story of `npm start`. */
const story = ['run', 'demo', '--raw', '-p', 'Once upon a time', '-n', '200', '--temperature', '0.7'];

/** `quern` alone: what is here, and the next command. At a terminal it offers the demo. */
export async function home(): Promise<void> {
  const found = await lookAround();
  await write(showHome(found));
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY && process.stderr.isTTY;
  if (!isTerminal || found.devices.length === 0) return;
  if (!(await confirmed('\nShall the included model tell a story?', true))) return;
  await program().parseAsync(story, { from: 'user' });
}
