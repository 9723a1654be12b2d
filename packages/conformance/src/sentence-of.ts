/** How Node says that an import of one of our packages found no export, no module, or not the package. */
const unfitting = /'@quern\/[\w-]+' (does not provide an export|imported from)|subpath .*@quern/;

/** An error as a sentence; the stack only of an unforeseen one. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (unfitting.test(error.message))
    return `the installed packages of Quern do not fit together: ${error.message.split('\n')[0]}. Update all of them: npm install @quern/core@latest @quern/conformance@latest (VERSIONS_APART)`;
  return 'code' in error ? `${error.message} (${error.code})` : (error.stack ?? error.message);
}
