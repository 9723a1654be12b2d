/** Quern's process warnings while `act` runs. */
export async function warningsOf<T>(act: () => Promise<T>): Promise<{ warnings: string[]; result: T }> {
  const warnings: string[] = [];
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, type?: unknown) => {
    if (type === 'QuernWarning') warnings.push(String(warning));
  };
  try {
    return { warnings, result: await act() };
  } finally {
    process.emitWarning = emitWarning;
  }
}
