/** Letters and digits alone: 'max_tokens' and 'MaxTokens' are 'maxTokens' misspelt. */
const bare = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Levenshtein distance (1966): letters to insert, delete or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(a[i - 1] !== b[j - 1]));
    row = next;
  }
  return row[b.length]!;
}

/** Longer names are not typing errors. */
const longest = 64;

/** The name that was probably meant; undefined if no name is near. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (name.length > longest) return undefined;
  const [nearest] = names
    .map((other) => ({ other, distance: distance(bare(name), bare(other)) }))
    .sort((a, b) => a.distance - b.distance);
  return nearest && nearest.distance <= Math.max(1, name.length / 3) ? nearest.other : undefined;
}

/** "did you mean 'silu'?", or all known names where none is near. */
export function adviceFor(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest ? `did you mean '${nearest}'?` : `known are ${known.join(', ')}`;
}
