let midLine = false;

/** stdout's last line is unfinished. */
export const isMidLine = (): boolean => midLine;

/**
 * Writes to stdout and waits for a slow reader: generation slows down and memory stays bounded. A write error ends the
 * program: see broken-output.ts.
 */
export function write(text: string): Promise<void> {
  if (text !== '') midLine = !text.endsWith('\n');
  return new Promise((resolve) => {
    process.stdout.write(text, (error) => {
      if (!error) resolve();
    });
  });
}

export const writeJson = (value: unknown): Promise<void> => write(`${JSON.stringify(value)}\n`);
