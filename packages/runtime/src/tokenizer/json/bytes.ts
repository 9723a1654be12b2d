const utf8 = new TextEncoder();

/** The byte tokens of a text; undefined where one is missing. */
export function bytesOf(
  text: string,
  tokens: readonly (number | undefined)[] | undefined,
): readonly number[] | undefined {
  if (!tokens) return undefined;
  const ids: number[] = [];
  for (const byte of utf8.encode(text)) {
    const id = tokens[byte];
    if (id === undefined) return undefined;
    ids.push(id);
  }
  return ids;
}
