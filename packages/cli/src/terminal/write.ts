let midLine = false;

/** Whether what stands on stdout ends without a line break. */
export const isMidLine = (): boolean => midLine;

/**
 * Writes to stdout and waits while the reader is behind, so that a slow pipe slows generation and fills no memory. Where it
 * cannot be written the program ends: see broken-output.ts.
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
