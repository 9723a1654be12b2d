/** Begins the form, which other servers do not have. */
const prefix = 'quern1.';

/** Most bytes of thoughts. */
const mostBytes = 1 << 20;

/** Its length: base64 has 4 characters for 3 bytes. */
const mostLength = prefix.length + 4 * Math.ceil(mostBytes / 3);

/**
 * Thoughts in the form of `encrypted_content`, which a client without stored answers sends back: the text in base64. It
 * is not encrypted, as the answer shows the same thoughts. null: more bytes than an item may bring back.
 */
export function encodeThoughts(text: string): string | null {
  const bytes = Buffer.from(text);
  return bytes.length > mostBytes ? null : prefix + bytes.toString('base64');
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The thoughts; undefined for what this server did not write, and for more than it writes. */
export function decodeThoughts(content: string): string | undefined {
  if (!content.startsWith(prefix) || content.length > mostLength) return undefined;
  const encoded = content.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return undefined;
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}
