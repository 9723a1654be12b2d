import { createInterface } from 'node:readline/promises';
import { Interrupted } from './interrupt.js';

/** The typed line; undefined at the end of input (Ctrl-D). @throws Interrupted by Ctrl-C */
async function typedLine(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await new Promise<string | undefined>((resolve, reject) => {
      lines.once('SIGINT', () => reject(new Interrupted('SIGINT')));
      lines.once('close', () => resolve(undefined)); // a closed interface leaves its question pending
      lines.question(question).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
}

/**
 * Asks at a terminal for yes or no, on stderr.
 * @param otherwise what Enter alone means; the end of input means no
 * @throws Interrupted by Ctrl-C
 */
export async function confirmed(question: string, otherwise = false): Promise<boolean> {
  const line = await typedLine(`${question} ${otherwise ? '[Y/n]' : '[y/N]'} `).catch((error: unknown) => {
    process.stderr.write('\n'); // the line of the question has not ended
    throw error;
  });
  if (line === undefined) process.stderr.write('\n');
  const answer = line?.trim().toLowerCase();
  return answer === '' ? otherwise : answer === 'y' || answer === 'yes';
}
