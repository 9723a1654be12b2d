import type { DecodeStart } from './decode-start.js';
import type { DecoderStep } from './decoder-step.js';

const BYTE = /^<0x([0-9A-Fa-f]{2})>$/;

/**
 * Byte tokens to text. A run of bytes that is not UTF-8 becomes one U+FFFD per byte, as in Hugging Face. In a stream,
 * characters before the first invalid byte are kept.
 */
export function byteFallback({ streams }: DecodeStart): DecoderStep {
  return streams ? growing() : runByRun();
}

const byteOf = (token: string): number | undefined => {
  const digits = BYTE.exec(token)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
};

function runByRun(): DecoderStep {
  let bytes: number[] = [];
  const flush = (): string[] => {
    const run = bytes;
    bytes = [];
    return run.length === 0 ? [] : [textOf(run)];
  };
  return {
    push(token) {
      const byte = byteOf(token);
      if (byte === undefined) return [...flush(), token];
      bytes.push(byte);
      return [];
    },
    end: flush,
  };
}

function textOf(bytes: readonly number[]): string {
  try {
    return new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(Uint8Array.from(bytes));
  } catch {
    return '\ufffd'.repeat(bytes.length);
  }
}

function growing(): DecoderStep {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const some = (text: string) => (text === '' ? [] : [text]);
  return {
    push(token) {
      const byte = byteOf(token);
      return byte === undefined
        ? [...some(decoder.decode()), token]
        : some(decoder.decode(Uint8Array.of(byte), { stream: true }));
    },
    end: () => some(decoder.decode()),
  };
}
