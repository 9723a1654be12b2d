import fc from 'fast-check';
import { runs } from '../../../../test-scope.js';

// Texts of all kinds, for comparing tokenizers.

export const prose = [
  '',
  ' ',
  'The cat and the hat, in 1234567 words: "it is", she said.',
  "I'LL go — don't you?  Armée française; naïve café\u0301.\n\n\tNew line\r\n",
  'Привет, мир! Ελλάς ΣΟΦΟΣ σας. İstanbul ıİ ß ẞ ﬁ ½ ² Ⅷ ①',
  'どこで生れ。Yes カタカナー 漢字 𠀀𪛖𫝀𬺰 한국어',
  'a\u0085b\u00a0c\u2003d\u3000e\u200bf\ufeffg\u2028h\u180ei',
  'e\u0301 a\u0300\u0323 o\u0308 \u0301x क्षि ไทย 🦙👨‍👩‍👧🏽 🇫🇷 \u0000\u0001\u007f\ufffd\u00ad',
  '   leading and trailing   ',
  '$1+2=3 <tag> `code` ~x^2|y| #hash @you a_b_c ¿qué? «so»',
  'the the  the   thethe\n\nthe 1 22 333 4444 55555',
];

const range = (first: number, last: number) =>
  fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code));

/** Only blocks that have long been full: Unicode versions differ in newer characters. */
const someText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ' ',
        '  ',
        '\n',
        '\t',
        '\r\n',
        '\u0085',
        '\u00a0',
        "'s",
        'the',
        'Th',
        'ing',
        '123',
        '▁',
        '_',
        '-',
      ),
      range(0x20, 0x7e),
      range(0xa0, 0x17f),
      range(0x391, 0x3a1),
      range(0x410, 0x44f),
      range(0x4e00, 0x4e40),
      range(0x3041, 0x3090),
      range(0x20000, 0x20020),
      range(0x1f600, 0x1f640),
      range(0x300, 0x30a),
      range(0x2000, 0x200f),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

export const random = fc.sample(someText, { seed: 7, numRuns: runs(60) });
