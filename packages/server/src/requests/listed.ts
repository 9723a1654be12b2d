const maxNames = 20;
const maxLength = 64;

/** Names that a client chose, for a notice or an error: each once, the first ones, shortened. */
export const listed = (names: Iterable<string>): string =>
  [...new Set(names)]
    .slice(0, maxNames)
    .map((name) => (name.length > maxLength ? `${name.slice(0, maxLength)}…` : name))
    .join(', ');
