/** Writes to stdout and waits while the reader is behind, so that a slow pipe slows generation and fills no memory. */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

export const writeJson = (value: unknown): Promise<void> => write(`${JSON.stringify(value)}\n`);
