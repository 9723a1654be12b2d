// GPT-2's byte-level alphabet: every byte is one printable character, so that merges never see a space.
const isPrintable = (byte: number) =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);

function alphabet(): string[] {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
}

const CHARACTERS = alphabet();
/** The character of each byte. */
export const byteCharacters: readonly string[] = CHARACTERS;
const BYTES = new Map(CHARACTERS.map((character, byte) => [character, byte]));
const utf8 = new TextEncoder();

/** The byte of a character. */
export const byteOf = (character: string): number | undefined => BYTES.get(character);

/** " é" becomes "ĠÃ©": one character per byte of the text's UTF-8. */
export const toByteLevel = (text: string): string => spellBytes(utf8.encode(text));

/** One character per byte. */
export function spellBytes(bytes: Uint8Array): string {
  let out = '';
  for (const byte of bytes) out += CHARACTERS[byte];
  return out;
}

/** The bytes of a byte-level spelling; characters outside the alphabet give their own UTF-8 bytes. */
export function fromByteLevel(spelling: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of spelling) {
    const byte = BYTES.get(character);
    if (byte === undefined) bytes.push(...utf8.encode(character));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

/** GPT-2's pattern for words. */
export const byteLevelWords =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
