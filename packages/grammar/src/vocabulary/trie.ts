/**
 * Tokens as a flat trie, in preorder. Node i has the byte `bytes[i]`; its subtree ends before `ends[i]`; it is at
 * `depths[i]` (first bytes: 0); `tokens[i]` is the token that ends here, or -1.
 */
export interface Trie {
  readonly bytes: Uint8Array;
  readonly ends: Int32Array;
  readonly depths: Int32Array;
  readonly tokens: Int32Array;
  readonly deepest: number;
}

/** `texts[i]`: the bytes of the token `ids[i]`; sorted, without duplicates or empty ones. */
export function buildTrie(texts: readonly Uint8Array[], ids: readonly number[]): Trie {
  const bytes: number[] = [];
  const depths: number[] = [];
  const tokens: number[] = [];
  let previous = new Uint8Array(0);
  let deepest = 0;
  texts.forEach((text, i) => {
    for (let depth = shared(previous, text); depth < text.length; depth++) {
      bytes.push(text[depth] as number);
      depths.push(depth);
      tokens.push(-1);
    }
    tokens[tokens.length - 1] = ids[i] as number;
    deepest = Math.max(deepest, text.length);
    previous = text as Uint8Array<ArrayBuffer>;
  });
  return {
    bytes: Uint8Array.from(bytes),
    ends: subtreeEnds(depths),
    depths: Int32Array.from(depths),
    tokens: Int32Array.from(tokens),
    deepest,
  };
}

function shared(a: Uint8Array, b: Uint8Array): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function subtreeEnds(depths: readonly number[]): Int32Array {
  const ends = new Int32Array(depths.length);
  const open: number[] = [];
  const close = (depth: number, at: number) => {
    while (open.length > depth) ends[open.pop() as number] = at;
  };
  depths.forEach((depth, node) => {
    close(depth, node);
    open.push(node);
  });
  close(0, depths.length);
  return ends;
}
