import { byteOf } from '../byte-level.js';
import type { DecoderStep } from './decoder-step.js';

const utf8 = new TextEncoder();

/** Byte-level spellings to text, in whole characters; invalid bytes become U+FFFD. */
export function byteLevelText(): DecoderStep {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    push: (token) => some(decoder.decode(bytesOf(token), { stream: true })),
    end: () => some(decoder.decode()),
  };
}

const some = (text: string) => (text === '' ? [] : [text]);

/** A token with characters outside the alphabet, such as an added token, stands for its own text. */
function bytesOf(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = byteOf(token[i]!);
    if (byte === undefined) return utf8.encode(token);
    bytes[i] = byte;
  }
  return bytes;
}
