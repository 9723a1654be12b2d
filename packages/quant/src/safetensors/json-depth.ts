/**
 * Byte at which JSON nests deeper than `limit`, or undefined. Checked before parsing, because deep nesting uses many
 * times its bytes in memory.
 */
export function tooDeepAt(json: Uint8Array, limit: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (inString && byte === backslash) i++;
    else if (byte === quotationMark) inString = !inString;
    else if (!inString && (byte === openBrace || byte === openBracket)) depth++;
    else if (!inString && (byte === closeBrace || byte === closeBracket)) depth--;
    if (depth > limit) return i;
  }
  return undefined;
}

const [quotationMark, backslash] = [0x22, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
