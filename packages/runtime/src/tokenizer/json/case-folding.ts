/** Characters whose full case folding (Unicode's CaseFolding.txt, status F) has more than one character. */
const BLOCKS = [
  [0xdf, 0xdf],
  [0x130, 0x130],
  [0x149, 0x149],
  [0x1f0, 0x1f0],
  [0x390, 0x3b0],
  [0x587, 0x587],
  [0x1e96, 0x1e9e],
  [0x1f50, 0x1ffc],
  [0xfb00, 0xfb17],
] as const;

/** Full case folding, for characters that fold to several. */
const fullFold = (character: string): string => character.toLowerCase().toUpperCase().toLowerCase();

const lengthOf = (text: string): number => [...text].length;

/** The characters that fold to several, by what they fold to: "ss" → ["ß", "ẞ"]. Two characters before three. */
export const FOLDINGS: ReadonlyMap<string, readonly string[]> = foldings();

function foldings(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [first, last] of BLOCKS)
    for (let code = first; code <= last; code++) {
      const character = String.fromCodePoint(code);
      const folded = fullFold(character);
      if (lengthOf(folded) > 1) found.set(folded, [...(found.get(folded) ?? []), character]);
    }
  return new Map([...found].sort(([a], [b]) => lengthOf(a) - lengthOf(b)));
}

const several = new Map(
  [...FOLDINGS].flatMap(([folded, list]) => list.map((each) => [each, folded] as const)),
);

/** What a character folds to, if that has several characters. */
export const foldsToSeveral = (character: string): string | undefined => several.get(character);

/** Simple case folding: one character. The dotless i equals no other letter. */
export function simpleFold(character: string): string {
  if (character === 'ı') return character;
  const folded = character.toUpperCase().toLowerCase();
  return lengthOf(folded) === 1 ? folded : character;
}

/** Blocks that hold all characters with a simple case folding to or from another one. */
const CASED = [
  [0x41, 0x2af],
  [0x345, 0x58f],
  [0x10a0, 0x10ff],
  [0x13a0, 0x13ff],
  [0x1c80, 0x1cbf],
  [0x1d79, 0x1d8e],
  [0x1e00, 0x1fff],
  [0x2126, 0x2188],
  [0x24b6, 0x24e9],
  [0x2c00, 0x2d2d],
  [0xa640, 0xa7ff],
  [0xab53, 0xabbf],
  [0xfb05, 0xfb06],
  [0xff21, 0xff5a],
  [0x10400, 0x105bf],
  [0x10c80, 0x10cf2],
  [0x10d50, 0x10d85],
  [0x118a0, 0x118df],
  [0x16e40, 0x16eff],
  [0x1e900, 0x1e943],
] as const;

let variants: readonly (readonly string[])[] | undefined;

/** Characters that differ in case alone, by groups: K, k and the sign of Kelvin. */
export function caseVariants(): readonly (readonly string[])[] {
  variants ??= [...groupsOf(CASED).values()].filter(({ length }) => length > 1);
  return variants;
}

function groupsOf(blocks: typeof CASED): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [first, last] of blocks)
    for (let code = first; code <= last; code++) {
      const character = String.fromCodePoint(code);
      const folded = foldsToSeveral(character) ?? simpleFold(character);
      const group = groups.get(folded);
      if (group) group.push(character);
      else groups.set(folded, [character]);
    }
  return groups;
}
